#include "program.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>

namespace linnet::tests {

namespace {

class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  Fd& operator=(Fd&& o) noexcept {
    std::swap(fd_, o.fd_);
    return *this;
  }
  ~Fd() { close(); }
  int get() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

struct Ends {
  Fd ours, childs;
};

void require(bool ok, const char* what) { BOOST_REQUIRE_MESSAGE(ok, what << ": " << std::strerror(errno)); }

Ends output_pipe() {
  int fds[2];
  require(::pipe2(fds, O_CLOEXEC) == 0, "pipe");
  return {Fd(fds[0]), Fd(fds[1])};
}
Ends input_pipe() {
  Ends e = output_pipe();
  std::swap(e.ours, e.childs);
  require(::fcntl(e.ours.get(), F_SETFL, O_NONBLOCK) == 0, "fcntl");
  return e;
}
Ends terminal_of_80_columns() {
  int ours = -1, childs = -1;
  const winsize size{24, 80, 0, 0};
  require(::openpty(&ours, &childs, nullptr, nullptr, &size) == 0, "openpty");
  for (const int fd : {ours, childs}) require(::fcntl(fd, F_SETFD, FD_CLOEXEC) == 0, "fcntl");
  return {Fd(ours), Fd(childs)};
}

// What came, until the other side closes its end; then `from` is closed. A terminal says that with EIO.
void read_some(Fd* from, std::string* into) {
  char block[4096];
  const ssize_t n = ::read(from->get(), block, sizeof block);
  if (n > 0) into->append(block, static_cast<size_t>(n));
  else if (n == 0 || errno != EINTR) from->close();
}

void write_some(Fd* to, std::string_view* text) {
  const ssize_t n = ::write(to->get(), text->data(), text->size());
  if (n > 0) text->remove_prefix(static_cast<size_t>(n));
  else if (n < 0 && errno != EINTR && errno != EAGAIN) to->close();  // the program does not read on
}

// A test that fails on its way leaves no process behind.
struct Child {
  pid_t pid;
  ~Child() {
    if (pid <= 0) return;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
};

struct IgnorePipeSignal {
  using Handler = void (*)(int);
  Handler before = std::signal(SIGPIPE, SIG_IGN);
  ~IgnorePipeSignal() { std::signal(SIGPIPE, before); }
};

}  // namespace

std::string model_path() {
  static TempDir folder;
  static const std::string path = [] {
    ConvertOptions options;
    options.source = LINNET_SOURCE_DIR "/examples/models/linnet-tales";
    options.output = folder / "tales.linnet";
    options.dtype = LINNET_F32;
    linnet_error error{};
    BOOST_REQUIRE_MESSAGE(convert(options, nullptr, &error) == LINNET_OK, error.message);
    return options.output;
  }();
  return path;
}

Ran run_program(const std::string& name, std::vector<std::string> arguments, const Setting& setting) {
  std::replace(arguments.begin(), arguments.end(), std::string("MODEL"), model_path());
  arguments.insert(arguments.begin(), LINNET_BIN_DIR "/" + name);
  std::string command;
  for (const auto& a : arguments) command += (command.empty() ? "" : " ") + a;
  BOOST_TEST_CONTEXT(command) {
    std::vector<char*> argv;
    for (auto& a : arguments) argv.push_back(a.data());
    argv.push_back(nullptr);

    const IgnorePipeSignal ignored;
    Ends in;
    if (setting.stdin_path.empty()) in = input_pipe();
    else in.childs = Fd(::open(setting.stdin_path.c_str(), O_RDONLY | O_CLOEXEC));
    require(in.childs.get() >= 0, setting.stdin_path.c_str());
    Ends out = setting.out_is_terminal ? terminal_of_80_columns() : output_pipe();
    Ends err = setting.err_is_terminal ? terminal_of_80_columns() : output_pipe();
    if (setting.nobody_reads) out.ours.close();

    Child child{::fork()};
    require(child.pid >= 0, "fork");
    if (child.pid == 0) {
      for (const int s : {SIGINT, SIGTERM, SIGPIPE}) std::signal(s, SIG_DFL);
      const bool ready = (setting.folder.empty() || ::chdir(setting.folder.c_str()) == 0) && ::dup2(in.childs.get(), 0) == 0 &&
                         ::dup2(out.childs.get(), 1) == 1 && ::dup2(err.childs.get(), 2) == 2;
      if (ready) ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    in.childs.close();
    out.childs.close();
    err.childs.close();

    Ran ran;
    std::string_view input = setting.input;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(setting.timeout_seconds);
    int status = 0;
    for (bool over = false; !over;) {
      BOOST_REQUIRE_MESSAGE(std::chrono::steady_clock::now() < end, "not done after " << setting.timeout_seconds << " s; stderr: " << ran.err);
      if (input.empty() && in.ours.get() >= 0) {
        int waiting = 0;
        ran.input_taken = ::ioctl(in.ours.get(), FIONREAD, &waiting) == 0 && waiting == 0;
        if (!setting.input_stays_open) in.ours.close();
      }
      if (setting.interrupt_when && !ran.interrupted && setting.interrupt_when(ran)) ran.interrupted = ::kill(child.pid, SIGINT) == 0;
      if (out.ours.get() < 0 && err.ours.get() < 0) {
        const pid_t ended = ::waitpid(child.pid, &status, WNOHANG);
        require(ended >= 0, "waitpid");
        over = ended == child.pid;
      }
      // A negative descriptor is skipped.
      pollfd fds[] = {{out.ours.get(), POLLIN, 0}, {err.ours.get(), POLLIN, 0}, {input.empty() ? -1 : in.ours.get(), POLLOUT, 0}};
      if (over || ::poll(fds, std::size(fds), 2) <= 0) continue;
      if (fds[0].revents) read_some(&out.ours, &ran.out);
      if (fds[1].revents) read_some(&err.ours, &ran.err);
      if (fds[2].revents) write_some(&in.ours, &input);
    }
    child.pid = 0;
    if (WIFEXITED(status)) ran.status = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) ran.signal = WTERMSIG(status);
    BOOST_REQUIRE_MESSAGE(ran.status != 127, "the program could not be started");
    return ran;
  }
  return {};
}

std::string output_of(const std::string& name, const std::vector<std::string>& arguments, const Setting& setting) {
  Ran ran = run_program(name, arguments, setting);
  BOOST_REQUIRE_MESSAGE(ran.status == 0, name << " ended with " << ran.status << ", signal " << ran.signal << ": " << ran.err);
  BOOST_TEST(ran.err == "");
  return ran.out;
}

void expect_failure(int status, const std::string& name, const std::vector<std::string>& arguments, const std::vector<std::string>& words,
                    const Setting& setting) {
  const Ran ran = run_program(name, arguments, setting);
  BOOST_TEST(ran.status == status, name << " ended with " << ran.status << ", signal " << ran.signal << ": " << ran.err);
  BOOST_TEST(ran.out == "");
  BOOST_TEST(ran.err.starts_with(name + ": "), ran.err);
  BOOST_TEST(ran.err.find('\n') == ran.err.size() - 1, "not one line: " << ran.err);
  for (const auto& word : words) BOOST_TEST(holds(ran.err, word), "no \"" << word << "\" in: " << ran.err);
}

}  // namespace linnet::tests

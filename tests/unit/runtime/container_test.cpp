// The container: whatever is cut, damaged, newer or misplaced is refused with its name.
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include "runtime/container.h"
#include "toy_ops.h"

using namespace linnet;
using namespace linnet::tests;
using linnet::detail::Header;
using linnet::detail::Section;
using linnet::detail::SectionKind;
namespace data = boost::unit_test::data;

namespace {

std::string file() { return slurp(convert_golden("llama-gqa-6over2")); }

Header header_of(const std::string& bytes) {
  Header h;
  std::memcpy(&h, bytes.data(), sizeof h);
  return h;
}
void put_header(std::string& bytes, Header h) {
  h.xxh3 = XXH3_64bits(&h, offsetof(Header, xxh3));
  std::memcpy(bytes.data(), &h, sizeof h);
}

Status open(const std::string& bytes, ModelOptions options = {}) {
  TempDir tmp;
  spill(tmp.path() / "m.linnet", bytes);
  options.load = LINNET_LOAD_COPY;
  auto model = Model::open(tmp / "m.linnet", options);
  return model ? Status() : model.error();
}

uint64_t section(const std::string& bytes, SectionKind kind) {
  const Header h = header_of(bytes);
  for (uint32_t i = 0; i < h.section_count; ++i)
    if (h.sections[i].kind == static_cast<uint32_t>(kind)) return h.sections[i].offset;
  BOOST_FAIL("no such section");
  return 0;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_cut_file_is_refused) {  // B14
  const std::string whole = file();
  BOOST_TEST(open(whole).ok());
  for (const size_t n : {size_t{0}, size_t{1}, size_t{255}, size_t{256}, whole.size() / 2, whole.size() - 1}) {
    const Status s = open(whole.substr(0, n));
    BOOST_TEST(s.code() == LINNET_BAD_FILE, n << ": " << s.message());
    BOOST_TEST(std::string(s.message()).find(std::to_string(n)) != std::string::npos, s.message());
  }
  BOOST_TEST(open(whole + "x").code() == LINNET_BAD_FILE);
}

BOOST_AUTO_TEST_CASE(versions_are_enforced) {  // B16
  std::string bytes = file();
  Header h = header_of(bytes);
  h.minor = 99;
  put_header(bytes, h);
  BOOST_TEST(open(bytes).ok());
  h.major = 9;
  put_header(bytes, h);
  const Status s = open(bytes);
  BOOST_TEST(s.code() == LINNET_VERSION);
  BOOST_TEST(std::string(s.message()).find("9.99") != std::string::npos);
  BOOST_TEST(std::string(s.message()).find("reads 0.x") != std::string::npos);
  bytes[0] = 'X';
  BOOST_TEST(open(bytes).code() == LINNET_BAD_FILE);
  BOOST_TEST(open("GGUF" + std::string(1000, 'x')).code() == LINNET_BAD_FILE);
}

BOOST_AUTO_TEST_CASE(every_damaged_byte_of_the_header_is_noticed) {
  const std::string whole = file();
  for (size_t i = 0; i < sizeof(Header); ++i) {
    std::string bytes = whole;
    bytes[i] = static_cast<char>(bytes[i] ^ 0x40);
    BOOST_TEST(!open(bytes).ok(), "byte " << i);
  }
}

BOOST_AUTO_TEST_CASE(damage_is_named) {
  const std::string whole = file();
  std::string bytes = whole;
  bytes[section(whole, SectionKind::graph) + 100] ^= 1;
  BOOST_TEST(std::string(open(bytes).subject()) == "graph section");
  bytes = whole;
  const uint64_t weights = section(whole, SectionKind::weights);
  bytes[weights + 5] ^= 1;
  BOOST_TEST(open(bytes).ok());  // hashing weights costs more than a token: only on request
  const Status s = open(bytes, {.verify = LINNET_VERIFY_ALL});
  BOOST_TEST(s.code() == LINNET_BAD_FILE);
  BOOST_TEST(std::string(s.message()).find("tensor") != std::string::npos);
  BOOST_TEST(open(whole, {.verify = LINNET_VERIFY_ALL}).ok());
}

BOOST_AUTO_TEST_CASE(sections_that_lie_outside_or_twice_are_refused) {
  const std::string whole = file();
  const Header good = header_of(whole);
  const auto changed = [&](auto change) {
    std::string bytes = whole;
    Header h = good;
    change(h);
    put_header(bytes, h);
    return open(bytes).code();
  };
  BOOST_TEST(changed([](Header&) {}) == LINNET_OK);
  BOOST_TEST(changed([](Header& h) { h.sections[0].offset = UINT64_MAX - 63; }) == LINNET_BAD_FILE);
  BOOST_TEST(changed([](Header& h) { h.sections[0].bytes = UINT64_MAX; }) == LINNET_BAD_FILE);
  BOOST_TEST(changed([](Header& h) { h.sections[0].offset += 8; }) == LINNET_BAD_FILE);
  BOOST_TEST(changed([](Header& h) { h.sections[0].offset = 0; }) == LINNET_BAD_FILE);
  BOOST_TEST(changed([](Header& h) { h.section_count = 5; }) == LINNET_BAD_FILE);
  BOOST_TEST(changed([](Header& h) { h.section_count = 0; }) == LINNET_BAD_FILE);
  BOOST_TEST(changed([](Header& h) {
               h.sections[h.section_count] = h.sections[0];
               ++h.section_count;
             }) == LINNET_BAD_FILE);
  BOOST_TEST(changed([](Header& h) { h.header_bytes = 512; }) == LINNET_BAD_FILE);
  BOOST_TEST(changed([](Header& h) { h.file_bytes -= 64; }) == LINNET_BAD_FILE);
  BOOST_TEST(changed([](Header& h) {
               h.sections[h.section_count].kind = 77;
               ++h.section_count;
             }) == LINNET_OK);  // of a later minor version
}

BOOST_AUTO_TEST_CASE(memory_must_be_aligned_or_copied) {  // B15
  const std::string bytes = file();
  std::vector<char> memory(bytes.size() + 128);
  char* aligned = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64;
  for (const size_t off : {0, 1, 4, 8, 32}) {
    std::memcpy(aligned + off, bytes.data(), bytes.size());
    const std::span<const std::byte> view(reinterpret_cast<const std::byte*>(aligned + off), bytes.size());
    const auto mapped = Model::open(view);
    BOOST_TEST(bool(mapped) == (off == 0));
    if (!mapped) BOOST_TEST(mapped.error().code() == LINNET_INVALID_ARGUMENT);
    Model copied = need(Model::open(view, {.load = LINNET_LOAD_COPY}));
    BOOST_TEST(all_logits(copied, random_ids(3, copied.info().vocabulary)).size() == 3u);
  }
}

BOOST_AUTO_TEST_CASE(files_that_are_not_there_or_not_files) {
  TempDir tmp;
  const auto missing = Model::open(tmp / "nothing.linnet");
  BOOST_REQUIRE(!missing);
  BOOST_TEST(missing.error().code() == LINNET_IO);
  BOOST_TEST(std::string(missing.error().message()).find("nothing.linnet") != std::string::npos);
  const auto folder = Model::open(tmp.path().string());
  BOOST_REQUIRE(!folder);
  BOOST_TEST(folder.error().code() == LINNET_IO);
  BOOST_TEST(std::string(folder.error().message()).find("linnet-convert") != std::string::npos);
}

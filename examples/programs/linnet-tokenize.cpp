// linnet-tokenize: text to a model's token ids and back.
#include <unistd.h>
#include <cstdio>

#include "common.h"

using namespace linnet;
using namespace linnet::programs;

namespace {

struct Options {
  ModelChoice model;
  std::string text, file;
  bool parse_special = false, add_special = false, decode = false, skip_special = false, tokens = false;
} o;
CLI::App app{"Shows a text as the model's token ids (one JSON array), or ids as their text", "linnet-tokenize"};

std::string input(const char* what) {
  if (app.count("TEXT")) return o.text;
  if (app.count("--file")) return read_file(o.file);
  if (terminal(STDIN_FILENO)) std::fprintf(stderr, "linnet-tokenize: reading %s from the terminal; end it with Ctrl-D\n", what);
  return read_stdin();
}

// In quotes; what a terminal would not show is escaped, and so are bytes that are only a part of a character.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const size_t n = c < 0x80 ? 1 : c >= 0xC2 && c < 0xE0 ? 2 : c >= 0xE0 && c < 0xF0 ? 3 : c >= 0xF0 && c < 0xF5 ? 4 : 0;
    bool whole = n > 0 && n <= text.size() - i && (n > 1 || (c >= 0x20 && c != 0x7F && c != '"' && c != '\\'));
    for (size_t k = 1; whole && k < n; ++k) whole = (text[i + k] & 0xC0) == 0x80;
    if (whole) {
      out += text.substr(i, n);
      i += n;
      continue;
    }
    char escape[8];
    if (c == '"' || c == '\\') std::snprintf(escape, sizeof escape, "\\%c", c);
    else if (c == '\n') std::snprintf(escape, sizeof escape, "\\n");
    else std::snprintf(escape, sizeof escape, "\\x%02X", c);
    out += escape;
    ++i;
  }
  return out + '"';
}

void show_tokens(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  std::string out;
  for (const int32_t id : ids) {
    const char* text = nullptr;
    size_t bytes = 0;
    int special = 0;
    check(detail::status([&](linnet_error* e) { return linnet_tokenizer_token(tokenizer.get(), id, &text, &bytes, &special, e); }));
    char number[16];
    std::snprintf(number, sizeof number, "%8d  ", id);
    out += number + quoted({text, bytes}) + (special ? "  special\n" : "\n");
  }
  write_stdout(out);
}

int body() {
  const Model model = open_model(o.model);
  if (!model.info().tokenizer_bytes)
    fail(o.model.path + " has no tokenizer: it was converted from a checkpoint without tokenizer.json, or with --no-tokenizer");
  const Tokenizer tokenizer = check(Tokenizer::create(model));
  if (o.decode) {
    const auto ids = parse_ids(input("token ids"));
    const auto size = static_cast<int64_t>(linnet_tokenizer_size(tokenizer.get()));
    for (const int32_t id : ids)
      if (id < 0 || id >= size) fail("token id " + std::to_string(id) + " is outside the tokenizer's " + std::to_string(size));
    if (o.tokens) show_tokens(tokenizer, ids);
    else write_stdout(check(tokenizer.decode(ids, o.skip_special)));
    return kOk;
  }
  const uint32_t flags = (o.parse_special ? uint32_t{LINNET_PARSE_SPECIAL} : 0u) | (o.add_special ? uint32_t{LINNET_ADD_SPECIAL} : 0u);
  const auto ids = check(tokenizer.encode(input("text"), flags));
  if (o.tokens) show_tokens(tokenizer, ids);
  else write_stdout(ids_to_json(ids.data(), ids.size()) + "\n");
  return kOk;
}

}  // namespace

int main(int argc, char** argv) {
  describe(app,
           "  linnet-tokenize story.linnet \"Once upon a time\"\n"
           "  linnet-tokenize story.linnet --tokens -f prompt.txt\n"
           "  echo \"[1, 403, 407]\" | linnet-tokenize story.linnet --decode");
  add_model(app, o.model);
  auto* text = app.add_option("TEXT", o.text, "the text, or with --decode the ids; without TEXT and -f it is read from stdin");
  app.add_option("-f,--file", o.file, "a file with the text, or the ids")->excludes(text);
  auto* parse = app.add_flag("--parse-special", o.parse_special, "text such as <s> means the control token");
  auto* add = app.add_flag("--add-special", o.add_special, "add what the tokenizer adds by itself, such as a beginning-of-sequence token");
  auto* decode = app.add_flag("--decode", o.decode, "ids (a JSON array, or 1,2,3) to text, printed exactly, without a newline");
  app.add_flag("--skip-special", o.skip_special, "with --decode: leave control tokens out")->needs(decode);
  app.add_flag("--tokens", o.tokens, "one line a token: its id and its own text");
  decode->excludes(parse)->excludes(add);
  return run(app, argc, argv, body);
}

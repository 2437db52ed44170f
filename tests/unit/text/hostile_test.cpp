// Sections that a stranger wrote: refused, or harmless. Run under sanitizers, these tests see every step out of bounds.
#include <boost/test/unit_test.hpp>
#include <random>

#include "schema/tokenizer_generated.h"
#include "unit/text/support.h"

using namespace linnet::test;
namespace format = linnet::format;
using linnet::detail::Tokenizer;

namespace {

// A copy of a good section that can be written into.
struct Edit {
  explicit Edit(const std::string& bytes)
      : section(bytes), root(flatbuffers::GetMutableRoot<flatbuffers::Table>(section.data)), t(format::GetTokenizer(section.data)) {}
  template <typename T, typename V>
  void set(const flatbuffers::Vector<T>* vector, uint32_t i, V value) {
    reinterpret_cast<V*>(const_cast<uint8_t*>(vector->Data()))[i] = value;
  }
  template <typename T>
  void length(const flatbuffers::Vector<T>* vector, uint32_t n) {
    std::memcpy(const_cast<uint8_t*>(vector->Data()) - 4, &n, 4);
  }
  template <typename V>
  void scalar(flatbuffers::voffset_t field, V value) {
    uint8_t* at = root->GetAddressOf(field);
    BOOST_TEST_REQUIRE(at != nullptr);
    std::memcpy(at, &value, sizeof value);
  }
  format::MergeSlot* merge(uint32_t i) { return const_cast<format::MergeSlot*>(t->merge_slots()->Get(i)); }
  flatbuffers::Table* step(const flatbuffers::Vector<flatbuffers::Offset<format::Step>>* steps, uint32_t i) {
    return reinterpret_cast<flatbuffers::Table*>(const_cast<format::Step*>(steps->Get(i)));
  }
  Section section;
  flatbuffers::Table* root;
  const format::Tokenizer* t;
};

linnet_code open(const uint8_t* data, size_t size, linnet_error* error = nullptr) {
  Tokenizer t(linnet::detail::allocator_or_malloc(nullptr));
  return t.open(data, size, error);
}

// A compiled section by name: a file of data/, or one made here.
std::string compiled(const std::string& name) {
  if (name != "renamed") return linnet::converter::compile_tokenizer(read_data(name + ".json"), "");
  Json tokens = {added_token(1, "x"), added_token(2, "y")};
  for (Json& t : tokens) t["normalized"] = true;
  return linnet::converter::compile_tokenizer(
      small_tokenizer({"a"}, {}, {{"normalizer", {{"type", "Prepend"}, {"prepend", "_"}}}, {"added_tokens", tokens}}).dump(), "");
}

// Everything that can be done with a tokenizer.
void use(const Tokenizer& t) {
  const auto& s = t.section();
  for (const std::string& text : {std::string("The linnet's <a>b <B> word  sang\n\n 12345 "), std::string("a\0\xFF\xE2\x96", 5),
                                  std::string(300, ' '), std::string("New York foo <s> café 😀"), std::string(700, 'a')})
    for (uint32_t flags = 0; flags < 4; ++flags) {
      linnet::detail::Vec<int32_t> ids;
      linnet_error error{};
      if (t.encode(text, flags, &ids, &error) == LINNET_OK)
        for (const int32_t id : ids) BOOST_REQUIRE(static_cast<uint32_t>(id) < s.vocabulary);
      linnet::detail::TextOut out;
      linnet::detail::decode(s, ids.data(), ids.size(), flags & 1, &out);
    }
  std::string room(linnet::detail::TextStream::longest_piece(s), '\0');
  linnet::detail::TextStream stream;
  stream.start(&s, false);
  for (uint32_t id = 0; id < s.vocabulary + 2 && id < 2000; ++id) {
    linnet::detail::TextOut out{room.data(), room.size(), 0};
    stream.feed(id, &out);
    BOOST_REQUIRE(out.size <= out.capacity);
    BOOST_REQUIRE(linnet::detail::utf8_valid({room.data(), out.size}));
    if (id < s.vocabulary) (void)t.find(s.spelling(id));
  }
}

using T = format::Tokenizer;
struct Corruption {
  const char* what;
  const char* base;
  void (*change)(Edit&);
};
const Corruption kCorruptions[] = {
    {"end beyond the blob", "llama", [](Edit& e) { e.set(e.t->ends(), 7, uint32_t{1} << 30); }},
    {"end before the last", "llama", [](Edit& e) { e.set(e.t->ends(), 7, 0u); }},
    {"ends do not reach the blob's end", "llama",
     [](Edit& e) { e.set(e.t->ends(), e.t->ends()->size() - 1, e.t->ends()->Get(e.t->ends()->size() - 2)); }},
    {"fewer flags than tokens", "llama", [](Edit& e) { e.length(e.t->flags(), 3); }},
    {"unknown token flag", "llama", [](Edit& e) { e.set(e.t->flags(), 5, uint8_t{0x41}); }},
    {"a hole with text", "llama", [](Edit& e) { e.set(e.t->flags(), 5, uint8_t{0}); }},
    {"vector longer than the file", "llama", [](Edit& e) { e.length(e.t->ends(), 0x7FFFFFFF); }},
    {"vector length that wraps", "llama", [](Edit& e) { e.length(e.t->merge_slots(), 0x10000001); }},
    {"token id beyond the vocabulary", "llama",
     [](Edit& e) {
       for (uint32_t i = 0; i < e.t->token_slots()->size(); ++i)
         if (e.t->token_slots()->Get(i) != 0xFFFFFFFF) e.set(e.t->token_slots(), i, 500u);
     }},
    {"token table without an empty slot", "llama",
     [](Edit& e) {
       for (uint32_t i = 0; i < e.t->token_slots()->size(); ++i) e.set(e.t->token_slots(), i, 3u);
     }},
    {"token table with a long run", "llama",
     [](Edit& e) {
       for (uint32_t i = 0; i < 512; ++i) e.set(e.t->token_slots(), i, 3u);
     }},
    {"token table not a power of two", "llama", [](Edit& e) { e.length(e.t->token_slots(), e.t->token_slots()->size() - 1); }},
    {"empty token table", "llama", [](Edit& e) { e.length(e.t->token_slots(), 0); }},
    {"merge left beyond", "llama",
     [](Edit& e) {
       for (uint32_t i = 0; i < e.t->merge_slots()->size(); ++i)
         if (e.merge(i)->left() != 0xFFFFFFFF) *e.merge(i) = {500, 1, 1, 1};
     }},
    {"merge right beyond", "llama",
     [](Edit& e) {
       for (uint32_t i = 0; i < e.t->merge_slots()->size(); ++i)
         if (e.merge(i)->left() != 0xFFFFFFFF) *e.merge(i) = {1, 0xFFFFFFFF, 1, 1};
     }},
    {"merge result beyond", "llama",
     [](Edit& e) {
       for (uint32_t i = 0; i < e.t->merge_slots()->size(); ++i)
         if (e.merge(i)->left() != 0xFFFFFFFF) *e.merge(i) = {1, 1, 1, 0xFFFFFFFE};
     }},
    {"merge table without an empty slot", "llama",
     [](Edit& e) {
       for (uint32_t i = 0; i < e.t->merge_slots()->size(); ++i) *e.merge(i) = {1, 1, 1, 1};
     }},
    {"merge table of three slots", "llama", [](Edit& e) { e.length(e.t->merge_slots(), 3); }},
    {"unk beyond", "llama", [](Edit& e) { e.scalar<uint32_t>(T::VT_UNK, 500); }},
    {"template id beyond", "llama", [](Edit& e) { e.set(e.t->before(), 0, 0xFFFFFFFFu); }},
    {"added ids and texts disagree", "added", [](Edit& e) { e.length(e.t->added_ids(), 2); }},
    {"added flags and texts disagree", "added", [](Edit& e) { e.length(e.t->added_flags(), 2); }},
    {"added id beyond", "added", [](Edit& e) { e.set(e.t->added_ids(), 0, 5000u); }},
    {"added end beyond", "added", [](Edit& e) { e.set(e.t->added_ends(), 2, 0xFFFFFFF0u); }},
    {"added text empty", "added", [](Edit& e) { e.set(e.t->added_ends(), 1, e.t->added_ends()->Get(0)); }},
    {"added texts out of order", "added", [](Edit& e) { e.set(e.t->added_text(), e.t->added_ends()->Get(1), uint8_t{1}); }},
    {"added text not UTF-8", "added", [](Edit& e) { e.set(e.t->added_text(), e.t->added_text()->size() - 1, uint8_t{0xFF}); }},
    {"unknown added flag", "added", [](Edit& e) { e.set(e.t->added_flags(), 0, uint8_t{0x80}); }},
    {"more raw tokens than there are", "added", [](Edit& e) { e.scalar<uint32_t>(T::VT_ADDED_RAW, 1000); }},
    {"token text not UTF-8", "llama", [](Edit& e) { e.set(e.t->tokens(), 1, uint8_t{0xC3}); }},
    {"renamed ids and texts disagree", "renamed", [](Edit& e) { e.length(e.t->renamed_ids(), 1); }},
    {"renamed id beyond", "renamed", [](Edit& e) { e.set(e.t->renamed_ids(), 1, 0xFFFFFFFFu); }},
    {"renamed ids out of order", "renamed", [](Edit& e) { e.set(e.t->renamed_ids(), 0, 4u); }},
    {"renamed end beyond", "renamed", [](Edit& e) { e.set(e.t->renamed_ends(), 0, 0x7FFFFFFFu); }},
    {"renamed text not UTF-8", "renamed", [](Edit& e) { e.set(e.t->renamed_text(), 0, uint8_t{0xFF}); }},
    {"string end beyond", "llama", [](Edit& e) { e.set(e.t->string_ends(), 0, 0xFFFFFFF0u); }},
    {"string not UTF-8", "llama", [](Edit& e) { e.set(e.t->strings(), 0, uint8_t{0xFF}); }},
    {"unknown pre-tokenizer", "bytelevel", [](Edit& e) { e.step(e.t->pre_tokenizers(), 0)->SetField<uint32_t>(format::Step::VT_FLAGS, 0x100, 0); }},
    {"decoder of another vocabulary", "bytelevel", [](Edit& e) { e.length(e.t->pre_tokenizers(), 0); }},
    {"decoder steps out of order", "llama",
     [](Edit& e) {
       std::swap(*const_cast<uint32_t*>(reinterpret_cast<const uint32_t*>(e.t->decoders()->Data())),
                 *(const_cast<uint32_t*>(reinterpret_cast<const uint32_t*>(e.t->decoders()->Data())) + 1));
     }},
    {"strip without fuse", "llama",
     [](Edit& e) {
       e.step(e.t->decoders(), 2)->SetField<uint8_t>(format::Step::VT_KIND, 3, 0);
       e.length(e.t->decoders(), 1);
       e.step(e.t->decoders(), 0)->SetField<uint8_t>(format::Step::VT_KIND, 4, 0);
     }},
    {"a step with a string that is not there", "llama",
     [](Edit& e) { e.step(e.t->normalizers(), 1)->SetField<uint32_t>(format::Step::VT_TEXT, 99, 0); }},
    {"a replace of nothing", "llama",
     [](Edit& e) {
       e.set(e.t->string_ends(), 0, 0u);
       e.step(e.t->normalizers(), 1)->SetField<uint32_t>(format::Step::VT_TEXT, 0, 0);
     }},
};

}  // namespace

BOOST_AUTO_TEST_SUITE(hostile)

BOOST_AUTO_TEST_CASE(what_does_not_hold_together_is_refused) {
  int refused = 0;
  for (const Corruption& c : kCorruptions) {
    BOOST_TEST_CONTEXT(c.what) {
      Edit edit(compiled(c.base));
      BOOST_TEST_REQUIRE(open(edit.section.data, edit.section.size) == LINNET_OK);
      c.change(edit);
      linnet_error error{};
      const linnet_code code = open(edit.section.data, edit.section.size, &error);
      BOOST_TEST((code == LINNET_BAD_FILE || code == LINNET_UNSUPPORTED));
      BOOST_TEST(error.message[0] != '\0');
      ++refused;
    }
  }
  BOOST_TEST(refused > 30);
}

BOOST_AUTO_TEST_CASE(kinds_of_later_versions_are_refused_by_number) {
  flatbuffers::FlatBufferBuilder b;
  format::TokenizerBuilder t(b);
  t.add_model(format::TokenizerModel::unigram);
  b.Finish(t.Finish());
  const Section section({reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize()});
  linnet_error error{};
  BOOST_TEST(open(section.data, section.size, &error) == LINNET_UNSUPPORTED);
  BOOST_TEST(std::string(error.message).find("kind 1") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(cut_empty_or_misplaced) {
  const std::string good = linnet::converter::compile_tokenizer(read_data("llama.json"), "");
  for (const size_t n : {size_t{0}, size_t{1}, size_t{7}, size_t{8}, size_t{40}, good.size() / 2, good.size() - 16}) {
    const Section cut(good.substr(0, n));
    BOOST_TEST(open(cut.data, cut.size) == LINNET_BAD_FILE);
  }
  BOOST_TEST(open(nullptr, 0) == LINNET_INVALID_ARGUMENT);
  const Section shifted(" " + good);
  BOOST_TEST(open(shifted.data + 1, good.size()) == LINNET_INVALID_ARGUMENT);
  const Section zeros(std::string(4096, '\0'));
  BOOST_TEST(open(zeros.data, zeros.size) == LINNET_BAD_FILE);
}

// Text that grows with every step would turn one page into gigabytes.
BOOST_AUTO_TEST_CASE(steps_that_multiply_text) {
  const Json step = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aaaaaaaa"}};
  const Json steps = {{"type", "Sequence"}, {"normalizers", {step, step, step}}};
  BOOST_CHECK_THROW(linnet::converter::compile_tokenizer(small_tokenizer({"a"}, {}, {{"normalizer", steps}}).dump(), ""), std::runtime_error);
  const Json two = {{"type", "Sequence"}, {"normalizers", {step, step}}};
  BOOST_TEST(TestTokenizer(small_tokenizer({"a"}, {}, {{"normalizer", two}}).dump()).encode("a").size() == 64u);
}

BOOST_AUTO_TEST_CASE(random_damage_is_refused_or_harmless) {
  std::mt19937 random(3);
  int opened = 0;
  for (const char* name : {"bytelevel", "llama", "added", "pieces", "renamed"}) {
    const std::string good = compiled(name);
    for (int i = 0; i < 700; ++i) {
      Section section(good);
      for (uint32_t k = 1 + random() % 3; k > 0; --k) {
        const size_t at = random() % 4 ? random() % section.size : random() % std::min<size_t>(400, section.size);
        section.data[at] = static_cast<uint8_t>(random() % 2 ? random() : section.data[at] ^ 1u << random() % 8);
      }
      Tokenizer t(linnet::detail::allocator_or_malloc(nullptr));
      linnet_error error{};
      if (t.open(section.data, section.size, &error)) continue;
      ++opened;
      use(t);
    }
  }
  BOOST_TEST(opened > 100);
}

BOOST_AUTO_TEST_SUITE_END()

// The safetensors reader against files that nobody should trust (CASES B1, B2, B4, B15).
#include "converter/checkpoint/safetensors.h"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include "checkpoints.h"

namespace bdata = boost::unit_test::data;
using namespace linnet;
using namespace linnet::tests;
using converter::read_safetensors;

namespace {

std::string with_length(uint64_t length, const std::string& rest) { return std::string(reinterpret_cast<const char*>(&length), 8) + rest; }

// A file of one or more tensors as JSON, over `data` bytes of zeros.
std::string file(const std::string& header, size_t data = 0) { return safetensors(header, std::string(data, '\0')); }

struct Bad {
  const char* what;
  std::string bytes;
  const char* message;  // part of it
};
std::ostream& operator<<(std::ostream& out, const Bad& b) { return out << b.what; }

const std::string kRest(100, 'x');
const std::vector<Bad> kBad = {
    {"empty file", "", "0 bytes"},
    {"seven bytes", "\1\2\3\4\5\6\7", "7 bytes"},
    {"length 0", with_length(0, kRest), "length is 0"},
    {"length 1", with_length(1, "{"), "length is 1"},
    {"length 2^63", with_length(uint64_t{1} << 63, kRest), "9223372036854775808"},
    {"length 2^64 - 1", with_length(~uint64_t{0}, kRest), "18446744073709551615"},
    {"length that reaches 7 bytes from the file's start too far", with_length(101, kRest), "length is 101, but only 100"},
    {"length = size", with_length(108, kRest), "length is 108"},
    {"not JSON", file("{\"a\":"), "not valid JSON"},
    {"JSON and more", file("{} {}"), "not valid JSON"},
    {"NUL behind the JSON", file(std::string("{}\0", 3)), "not valid JSON"},
    {"invalid UTF-8", file("{\"\xff\":1}"), "not valid JSON"},
    {"a list", file("[]"), "not a JSON object"},
    {"a number", file("12"), "not a JSON object"},
    {"a tensor that is a number", file(R"({"a":1})"), "where an object"},
    {"a tensor that is null", file(R"({"a":null})"), "has null"},
    {"no dtype", file(R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4), "lacks dtype"},
    {"no shape", file(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4), "lacks shape"},
    {"no data_offsets", file(R"({"a":{"dtype":"F32","shape":[1]}})", 4), "lacks data_offsets"},
    {"unknown field", file(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}})", 4), "\"x\""},
    {"field twice", file(R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4), "two fields"},
    {"tensor twice", file(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8),
     "stands twice"},
    {"dtype is a number", file(R"({"a":{"dtype":1,"shape":[1],"data_offsets":[0,4]}})", 4), "has a number"},
    {"shape is text", file(R"({"a":{"dtype":"F32","shape":"1","data_offsets":[0,4]}})", 4), "has text"},
    {"shape in a shape", file(R"({"a":{"dtype":"F32","shape":[[1]],"data_offsets":[0,4]}})", 4), "has a list"},
    {"object in a shape", file(R"({"a":{"dtype":"F32","shape":[{}],"data_offsets":[0,4]}})", 4), "has an object"},
    {"dimension -1", file(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4), "has -1 in its shape"},
    {"dimension 1.5", file(R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", 4), "has 1.5 in its shape"},
    {"dimension 1e30", file(R"({"a":{"dtype":"F32","shape":[1e30],"data_offsets":[0,4]}})", 4), "has 1e30 in its shape"},
    {"dimension 2^64", file(R"({"a":{"dtype":"F32","shape":[18446744073709551616],"data_offsets":[0,4]}})", 4),
     "has 18446744073709551616 in its shape"},
    {"dimension beyond any number", file(R"({"a":{"dtype":"F32","shape":[1e999],"data_offsets":[0,4]}})", 4), "not valid JSON"},
    {"product 2^64", file(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})"), "overflows"},
    {"product 2^64 in bits only", file(R"({"a":{"dtype":"F32","shape":[576460752303423488],"data_offsets":[0,0]}})"), "overflows"},
    {"one data_offset", file(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", 4), "1 data_offsets"},
    {"three data_offsets", file(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}})", 4), "more than two"},
    {"offsets run backwards", file(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4), "[4, 0)"},
    {"offsets behind the data", file(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 4), "[4, 8) of the data, which has 4"},
    {"offset -1", file(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[-1,4]}})", 4), "has -1 in its data_offsets"},
    {"size is not the shape's", file(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4), "needs 8 bytes; its data_offsets give it 4"},
    {"unknown dtype", file(R"({"a":{"dtype":"XX","shape":[1],"data_offsets":[0,4]}})", 4), "unsupported dtype XX"},
    {"unknown dtype and start 2^40: the bounds come first",
     file(R"({"a":{"dtype":"XX","shape":[1],"data_offsets":[1099511627776,1099511627780]}})", 4), "[1099511627776, 1099511627780)"},
    {"half a byte", file(R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}})", 1), "needs 2 bytes"},
    {"overlap", file(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8),
     "a and b overlap at byte 4"},
    {"the same bytes twice",
     file(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4), "overlap"},
    {"a hole", file(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8), "4 bytes before tensor a"},
    {"bytes behind the last tensor", file(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 5), "1 bytes after the last"},
    {"nothing but a hole", file("{}", 3), "3 bytes after"},
    {"metadata that never ends", file(R"({"__metadata__":{"a":{"b":[)"), "not valid JSON"},
};

}  // namespace

BOOST_AUTO_TEST_SUITE(safetensors_reader)

BOOST_DATA_TEST_CASE(a_bad_file_is_refused, bdata::make(kBad), bad) {
  const TempDir folder;
  spill(folder / "x.safetensors", bad.bytes);
  const std::string message = error_of([&] { read_safetensors(converter::FileMap(folder / "x.safetensors")); });
  BOOST_TEST(message.find(bad.message) != std::string::npos, "message: " << message);
  BOOST_TEST(message.find("x.safetensors") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_header_over_the_formats_cap_is_refused) {
  const TempDir folder;
  spill(folder / "x.safetensors", with_length(100'000'001, ""));
  std::filesystem::resize_file(folder / "x.safetensors", 8 + 100'000'001);
  const std::string message = error_of([&] { read_safetensors(converter::FileMap(folder / "x.safetensors")); });
  BOOST_TEST(message.find("limit of 100000000") != std::string::npos, "message: " << message);
  BOOST_TEST(message.find("x.safetensors") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_good_file_is_read) {
  const TempDir folder;
  const std::string header = R"({"__metadata__":{"format":"pt","b":"[1,{"},"late":{"dtype":"F16","shape":[2,3],"data_offsets":[4,16]},
      "one":{"shape":[],"data_offsets":[0,4],"dtype":"F32"},"none":{"dtype":"BF16","shape":[0,7],"data_offsets":[16,16]},
      "packed":{"dtype":"F4","shape":[4],"data_offsets":[16,18]}}  )";
  spill(folder / "x", safetensors(header, std::string(18, 'a')));
  const converter::FileMap map(folder / "x");
  const auto tensors = read_safetensors(map);
  BOOST_REQUIRE(tensors.size() == 4u);
  const uint64_t data = 8 + header.size();
  BOOST_TEST(tensors[0].name == "one");
  BOOST_TEST((tensors[0].type == converter::ElementType::f32 && tensors[0].shape.empty() && tensors[0].elements == 1 && tensors[0].begin == data &&
              tensors[0].end == data + 4));
  BOOST_TEST(tensors[1].name == "late");
  BOOST_TEST((tensors[1].type == converter::ElementType::f16 && tensors[1].shape == std::vector<uint64_t>{2, 3} && tensors[1].begin == data + 4 &&
              tensors[1].end == data + 16));
  BOOST_TEST(tensors[2].name == "none");
  BOOST_TEST((tensors[2].type == converter::ElementType::bf16 && tensors[2].elements == 0));
  BOOST_TEST(tensors[3].name == "packed");
  BOOST_TEST((tensors[3].type == converter::ElementType::other && tensors[3].dtype == "F4"));
}

BOOST_AUTO_TEST_CASE(a_truncated_file_is_refused_at_every_length) {
  const TempDir folder;
  const std::string whole = safetensors(tiny_llama_tensors());
  for (size_t n = 0; n < whole.size(); n += n < 64 || n + 64 > whole.size() ? 1 : 97) {
    spill(folder / "x", whole.substr(0, n));
    BOOST_TEST(error_of([&] { read_safetensors(converter::FileMap(folder / "x")); }) != "", "cut to " << n << " bytes");
  }
}

// Changed at random, a file is refused or describes tensors that lie inside it.
BOOST_AUTO_TEST_CASE(a_damaged_header_is_never_believed) {
  const TempDir folder;
  const std::string whole = safetensors(tiny_gpt2_tensors());
  uint64_t header = 0;
  std::memcpy(&header, whole.data(), 8);
  std::mt19937 random(1);
  int refused = 0;
  constexpr char kBytes[] = "0123456789[]{},:\"-.eE \\\0\xff";
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = whole;
    for (uint32_t changes = 1 + random() % 3; changes; --changes) bytes[random() % (8 + header)] = kBytes[random() % (sizeof kBytes - 1)];
    spill(folder / "x", bytes);
    const converter::FileMap map(folder / "x");
    try {
      for (const auto& t : read_safetensors(map)) {
        uint64_t elements = 1;
        for (const uint64_t n : t.shape) elements *= n;
        BOOST_REQUIRE((t.begin >= 8 && t.begin <= t.end && t.end <= bytes.size() && t.elements == elements));
        if (t.type != converter::ElementType::other) BOOST_REQUIRE(t.end - t.begin == elements * converter::element_bytes(t.type));
      }
    } catch (const ConvertError& e) {
      ++refused;
      BOOST_REQUIRE((e.code == LINNET_BAD_FILE || e.code == LINNET_UNSUPPORTED));
    }
  }
  BOOST_TEST((refused > 1500 && refused < 3000));
}

// Data behind a header of any length is read the same: no load may want an aligned address (the sanitizer build checks that).
BOOST_DATA_TEST_CASE(data_may_lie_at_any_address, bdata::make({0, 1, 2, 3, 5, 7}), pad) {
  const TempDir folder;
  for (const char* dtype : {"F32", "F16", "BF16"}) {
    write_checkpoint(folder.path() / "even", tiny_llama_config(), tiny_llama_tensors(dtype));
    fs::copy(folder / "even", folder / "odd", fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    spill(folder.path() / "odd/model.safetensors", safetensors(tiny_llama_tensors(dtype), static_cast<size_t>(pad)));
    for (const linnet_dtype target : {LINNET_F32, LINNET_F16, LINNET_BF16}) {
      ConvertOptions options;
      options.dtype = target;
      options.force = true;
      const Converted a = convert_folder(folder.path() / "even", options), b = convert_folder(folder.path() / "odd", options);
      BOOST_REQUIRE_MESSAGE(!a.code && !b.code, a.message << b.message);
      std::string first = slurp(a.output), second = slurp(b.output);
      // The model's name is its folder's: compare the weights.
      BOOST_TEST((first.substr(64 << 10) == second.substr(64 << 10)), dtype << " to " << target);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

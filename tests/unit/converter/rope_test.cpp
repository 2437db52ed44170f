// Inverse frequencies as torch computes them, and the spellings of their settings (CASES A1, A4).
#include "converter/architectures/rope.h"

#include <bit>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include "checkpoints.h"

namespace bdata = boost::unit_test::data;
using namespace linnet;
using namespace linnet::tests;
using converter::Config;

namespace {

// From transformers' formulas in torch 2.15, as bits: 1.0 / (theta ** (torch.arange(0, dim, 2) / dim)), and _compute_llama3_parameters.
struct Torch {
  const char* config;
  uint64_t dim;
  std::vector<uint32_t> bits;
};
std::ostream& operator<<(std::ostream& out, const Torch& t) { return out << t.config; }

const std::vector<Torch> kTorch = {
    {R"({"rope_theta":10000.0})", 64, {0x3f800000, 0x3f3ff911, 0x3f0ff59a, 0x3ed7e89b, 0x3ea1e89b, 0x3e72d423, 0x3e361887, 0x3e088d77,
                                       0x3dcccccd, 0x3d99940d, 0x3d6655c2, 0x3d2cba15, 0x3d0186e3, 0x3cc2434f, 0x3c91ad39, 0x3c5a7bf2,
                                       0x3c23d70a, 0x3bf5b9b0, 0x3bb8449c, 0x3b8a2e77, 0x3b4f3e38, 0x3b1b690d, 0x3ae91528, 0x3aaec98e,
                                       0x3a83126f, 0x3a44948c, 0x3a136a16, 0x39dd1725, 0x39a5cb60, 0x3978a815, 0x393a7753, 0x390bd472}},
    {R"({"rope_theta":500000.0,"rope_scaling":{"rope_type":"llama3","factor":8.0,"low_freq_factor":1.0,"high_freq_factor":4.0,)"
     R"("original_max_position_embeddings":8192}})",
     128,
     {0x3f800000, 0x3f508ac1, 0x3f29e1c6, 0x3f0a6384, 0x3ee177bc, 0x3eb7ab7d, 0x3e959ee3, 0x3e73c461, 0x3e4693b0, 0x3e21c3a0, 0x3e03c6a0,
      0x3dd6b19c, 0x3daee4ad, 0x3d8e7898, 0x3d681e67, 0x3d3d1684, 0x3d1a08c8, 0x3cfaf53f, 0x3ccc6f49, 0x3ca68939, 0x3c87a9c3, 0x3c5d06ec,
      0x3c340d6d, 0x3c12ac7f, 0x3beef74f, 0x3bc2aa76, 0x3b9e9402, 0x3b812e35, 0x3b527720, 0x3b0dfd06, 0x3ab3d11d, 0x3a60979e, 0x3a0995d2,
      0x39a3f108, 0x393b2dd2, 0x38c86886, 0x38a3418d, 0x3884fdbf, 0x3858ac81, 0x38308199, 0x380fc8f8, 0x37ea426f, 0x37bed4f4, 0x379b7475,
      0x377d45c3, 0x374e51f5, 0x3728126b, 0x3708ea0f, 0x36df10c4, 0x36b5b687, 0x369406cb, 0x36712b80, 0x36447610, 0x36200a69, 0x36025f34,
      0x35d46808, 0x35ad07a7, 0x358cf400, 0x3565a54d, 0x353b12c7, 0x351864a7, 0x34f848c2, 0x34ca41b0, 0x34a4c2ff}},
    {R"({"rope_theta":1000000.0})", 64, {0x3f800000, 0x3f263de0, 0x3ed7e89b, 0x3e8c3504, 0x3e361887, 0x3dec7fd6, 0x3d99940d, 0x3d47763f,
                                         0x3d0186e3, 0x3ca8398b, 0x3c5a7bf2, 0x3c0de12d, 0x3bb8449c, 0x3b6f520e, 0x3b1b690d, 0x3ac9d75c,
                                         0x3a83126f, 0x3a2a3b44, 0x39dd1725, 0x398f9272, 0x393a7753, 0x38f22ce2, 0x389d43a4, 0x384c3fbe,
                                         0x3804a2b2, 0x37ac431d, 0x375fba4f, 0x371148e3, 0x36bcb0c1, 0x36751070, 0x361f23e4, 0x35ceaf79}},
    {R"({"rope_theta":10000.0,"rope_scaling":{"rope_type":"llama3","factor":8.0,"low_freq_factor":1.0,"high_freq_factor":4.0,)"
     R"("original_max_position_embeddings":64}})",
     12,
     {0x3f800000, 0x3dd0dfc9, 0x3bbe1e95, 0x3aa3d70a, 0x398d3169, 0x38735a5c}},
    {R"({"rope_theta":10000.0,"rope_scaling":{"type":"linear","factor":4.0}})",
     80,
     {0x3e800000, 0x3e4b5918, 0x3e21866b, 0x3e004dce, 0x3dcbd4b4, 0x3da1e89b, 0x3d809bcc, 0x3d4c509b, 0x3d224b06, 0x3d00e9fa,
      0x3ccccccd, 0x3ca2adad, 0x3c813855, 0x3c4d494b, 0x3c231091, 0x3c0186e3, 0x3bcdc613, 0x3ba373ae, 0x3b81d5a0, 0x3b4e432a,
      0x3b23d70a, 0x3b02248c, 0x3acec089, 0x3aa43aa3, 0x3a8273a4, 0x3a4f3e38, 0x3a249e78, 0x3a02c2f1, 0x39cfbc32, 0x39a50284,
      0x3983126f, 0x39503a7a, 0x392566d4, 0x3903621c, 0x38d0b907, 0x38a5cb60, 0x3883b1fa, 0x385137e8, 0x38263028, 0x38040204}},
    {R"({"rope_theta":10000.5})",
     128,
     {0x3f800000, 0x3f5dafcb, 0x3f3ff8fe, 0x3f263dc7, 0x3f0ff57c, 0x3ef9538f, 0x3ed7e858, 0x3ebaf7d8, 0x3ea1e859, 0x3e8c34c3, 0x3e72d3a7,
      0x3e524777, 0x3e361817, 0x3e1dafd7, 0x3e088d15, 0x3dec7f21, 0x3dcccc25, 0x3db158df, 0x3d999380, 0x3d84fdcb, 0x3d6654d8, 0x3d477568,
      0x3d2cb953, 0x3d159298, 0x3d018643, 0x3ce053b3, 0x3cc2424d, 0x3ca838a2, 0x3c91ac68, 0x3c7c4bbc, 0x3c5a7aa1, 0x3c3d31e4, 0x3c23d5fe,
      0x3c0de03d, 0x3bf5b804, 0x3bd4c898, 0x3bb84348, 0x3b9f909d, 0x3b8a2d6b, 0x3b6f502f, 0x3b4f3c8f, 0x3b337596, 0x3b1b67bf, 0x3b069347,
      0x3ae9131b, 0x3ac9d58b, 0x3aaec7f2, 0x3a975aa2, 0x3a83112d, 0x3a62ffa9, 0x3a449296, 0x3a2a3987, 0x3a13688e, 0x39ff4cf8, 0x39dd14c3,
      0x39bf72bc, 0x39a5c984, 0x398f90cf, 0x3978a531, 0x3957515a, 0x393a7516, 0x3921771e, 0x390bd2b6, 0x38f229d6}},
};

Config config(const std::string& text) { return Config::parse(text, "config.json"); }
std::vector<float> frequencies(const std::string& text, uint64_t dim = 4, uint64_t context = 2048) {
  return converter::read_rope(config(text), dim, context).inverse_frequencies;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(rope)

BOOST_DATA_TEST_CASE(frequencies_are_torchs_within_one_unit, bdata::make(kTorch), c) {
  const auto made = frequencies(c.config, c.dim);
  BOOST_REQUIRE(made.size() == c.bits.size());
  for (size_t i = 0; i < made.size(); ++i) {
    const auto bits = std::bit_cast<int32_t>(made[i]), wanted = static_cast<int32_t>(c.bits[i]);
    BOOST_TEST(std::abs(bits - wanted) <= 1, "number " << i << ": " << made[i] << " for " << std::bit_cast<float>(c.bits[i]));
  }
}

BOOST_AUTO_TEST_CASE(old_and_new_spellings_agree) {
  const auto theta = frequencies(R"({"rope_theta":500000})");
  BOOST_TEST((theta == std::vector<float>{1.0f, 1.0f / static_cast<float>(std::sqrt(500000.0))}));
  for (const char* same :
       {R"({"rope_parameters":{"rope_type":"default","rope_theta":500000}})", R"({"rope_parameters":{"rope_theta":500000.0},"rope_scaling":null})",
        R"({"rope_theta":10000,"rope_parameters":{"rope_theta":500000}})", R"({"rope_theta":500000,"rope_scaling":{"type":"default"}})",
        R"({"rope_theta":500000,"rope_parameters":{"rope_type":"default"}})",
        R"({"rope_scaling":{"rope_theta":500000},"rope_parameters":{"rope_theta":7}})"})
    BOOST_TEST(frequencies(same) == theta, same);
  for (const char* none : {"{}", R"({"rope_scaling":null})", R"({"rope_parameters":{},"rope_theta":null})"})
    BOOST_TEST(frequencies(none) == frequencies(R"({"rope_theta":10000})"), none);

  const std::string llama3 = R"("factor":8.0,"low_freq_factor":1.0,"high_freq_factor":4.0,"original_max_position_embeddings":64)";
  const auto scaled = frequencies(R"({"rope_scaling":{"rope_type":"llama3",)" + llama3 + "}}", 12);
  BOOST_TEST(scaled != frequencies("{}", 12));
  BOOST_TEST(scaled == frequencies(R"({"rope_scaling":{"type":"llama3",)" + llama3 + "}}", 12));
  BOOST_TEST(scaled == frequencies(R"({"rope_parameters":{"rope_theta":10000,"rope_type":"llama3",)" + llama3 + "}}", 12));
  // The original length may stand at top level, which wins, or be max_position_embeddings.
  const std::string bare = R"("rope_scaling":{"rope_type":"llama3","factor":8.0,"low_freq_factor":1.0,"high_freq_factor":4.0})";
  BOOST_TEST(scaled == frequencies(R"({"original_max_position_embeddings":64,)" + bare + "}", 12));
  BOOST_TEST(scaled == frequencies("{" + bare + "}", 12, 64));
  BOOST_TEST(error_of([&] {
               frequencies(R"({"rope_scaling":{"rope_type":"llama3","factor":8.0,"low_freq_factor":4.0,"high_freq_factor":4.0}})");
             }).find("high_freq_factor") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

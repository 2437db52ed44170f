#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "runtime/sampling/philox.h"

using namespace linnet::detail;
namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(philox_numbers)

// The known answers that are published with Random123, file kat_vectors, generator philox4x32 with 10 rounds.
struct KnownAnswer { PhiloxCounter counter; PhiloxKey key; PhiloxCounter answer; };
std::ostream& operator<<(std::ostream& out, const KnownAnswer& k) { return out << std::hex << k.counter[0]; }
const KnownAnswer kKnown[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}, {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};
BOOST_DATA_TEST_CASE(known_answers, data::make(kKnown), known) {
  const PhiloxCounter got = philox(known.counter, known.key);
  BOOST_TEST(got == known.answer, boost::test_tools::per_element());
}

// 0xe169c58d6627e8d5 >> 11, over 2^53: the second word leads, the low 11 bits of the first are dropped.
BOOST_AUTO_TEST_CASE(uniform_of_known_answer) {
  BOOST_TEST(uniform(0, 0, Stream::token) == static_cast<double>(0x1c2d38b1acc4fdull) / 9007199254740992.0);
}

BOOST_AUTO_TEST_CASE(seed_and_position_use_all_their_bits) {
  const double base = uniform(5, 9, Stream::token);
  for (int bit = 0; bit < 64; ++bit) {
    BOOST_TEST(uniform(5 ^ uint64_t{1} << bit, 9, Stream::token) != base);
    BOOST_TEST(uniform(5, 9 ^ uint64_t{1} << bit, Stream::token) != base);
  }
  BOOST_TEST(uniform(5, 9, static_cast<Stream>(1)) != base);
}

BOOST_AUTO_TEST_CASE(uniform_is_in_range_and_even) {
  double sum = 0, low = 1, high = 0;
  for (uint64_t position = 0; position < 100000; ++position) {
    const double u = uniform(1, position, Stream::token);
    low = u < low ? u : low;
    high = u > high ? u : high;
    sum += u;
  }
  BOOST_TEST(low >= 0.0);
  BOOST_TEST(high < 1.0);
  BOOST_TEST(low < 1e-4);
  BOOST_TEST(high > 1 - 1e-4);
  BOOST_TEST(sum / 100000 == 0.5, boost::test_tools::tolerance(0.01));
}

BOOST_AUTO_TEST_SUITE_END()

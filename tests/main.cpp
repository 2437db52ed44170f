#define BOOST_TEST_MODULE linnet
#include <boost/test/included/unit_test.hpp>

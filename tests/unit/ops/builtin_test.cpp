// Registration of the built-in ops, over the runtime's registry.
#include <boost/test/unit_test.hpp>
#include <thread>

#include "linnet/c.h"
#include "unit/ops/harness.h"

using namespace linnet::test;

BOOST_AUTO_TEST_SUITE(builtin_ops)

BOOST_AUTO_TEST_CASE(register_once) {
  for (const char* isa : isas()) {
    linnet_registry* registry = nullptr;
    linnet_error error;
    BOOST_REQUIRE(linnet_registry_create(nullptr, &registry, &error) == LINNET_OK);
    BOOST_TEST(linnet_register_builtin_ops(registry, isa, &error) == LINNET_OK);
    BOOST_TEST(linnet_register_builtin_ops(registry, isa, &error) != LINNET_OK);  // they are there already
    for (const char* name : {"embedding", "rms_norm", "layer_norm", "linear", "feed_forward", "rope_table", "rope", "attention", "select_rows",
                             "activation", "add", "mul", "matmul", "scaled_masked_softmax", "state_append", "state_view"}) {
      BOOST_TEST(linnet_registry_remove(registry, name, &error) == LINNET_OK, name);
    }
    linnet_registry_release(registry);
  }
}

BOOST_AUTO_TEST_CASE(unknown_instruction_set) {
  linnet_registry* registry = nullptr;
  linnet_error error;
  BOOST_REQUIRE(linnet_registry_create(nullptr, &registry, &error) == LINNET_OK);
  BOOST_TEST(linnet_register_builtin_ops(registry, "sse9", &error) == LINNET_UNSUPPORTED);
  BOOST_TEST(std::string(error.message).find("sse9") != std::string::npos);
  linnet_registry_release(registry);
}

BOOST_AUTO_TEST_CASE(one_registry_for_all_threads) {
  linnet_registry* seen[4] = {};
  std::vector<std::thread> threads;
  for (linnet_registry*& r : seen) threads.emplace_back([&r] { r = linnet_builtin_registry(); });
  for (std::thread& t : threads) t.join();
  BOOST_TEST((seen[0] != nullptr));
  for (linnet_registry* r : seen) BOOST_TEST((r == seen[0]));
}

BOOST_AUTO_TEST_SUITE_END()

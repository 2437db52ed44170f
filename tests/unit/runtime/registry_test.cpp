// Ops: registered, replaced, refused; bodies in place of ops that are not there.
#include "toy_ops.h"

using namespace linnet;
using namespace linnet::tests;

namespace {
linnet_code add(linnet_registry* r, const linnet_op_def& def, int replace, std::string* message = nullptr) {
  linnet_error error{};
  const linnet_code code = linnet_registry_add(r, &def, replace, &error);
  if (message) *message = error.message;
  return code;
}
}  // namespace

BOOST_AUTO_TEST_CASE(registration_errors_say_what_is_wrong) {
  Toy toy;
  const Registry r = registry_for(nullptr);
  std::string message;
  linnet_op_def def = toy.def();
  BOOST_TEST(add(r.get(), def, 0, &message) == LINNET_INVALID_ARGUMENT);
  BOOST_TEST(message.find("select_rows") != std::string::npos);
  BOOST_TEST(add(r.get(), def, 1) == LINNET_OK);
  def.abi = 99;
  BOOST_TEST(add(r.get(), def, 1, &message) == LINNET_VERSION);
  BOOST_TEST(message.find("99") != std::string::npos);
  def = toy.def();
  def.size = 8;
  BOOST_TEST(add(r.get(), def, 1) == LINNET_VERSION);
  def = toy.def();
  def.eval = nullptr;
  BOOST_TEST(add(r.get(), def, 1) == LINNET_INVALID_ARGUMENT);
  def = toy.def();
  def.name = "a_name_that_is_longer_than_thirty_one_characters";
  BOOST_TEST(add(r.get(), def, 1) == LINNET_INVALID_ARGUMENT);
  def = toy.def();
  def.min_version = 3;
  BOOST_TEST(add(r.get(), def, 1) == LINNET_INVALID_ARGUMENT);
}

BOOST_AUTO_TEST_CASE(a_replaced_op_runs_and_gives_the_same_bits) {
  Toy toy;
  const Registry r = registry_with(toy);
  const std::string path = convert_golden("llama-gqa-6over2");
  Model with_toy = need(Model::open(path, {.registry = r.get()})), plain = need(Model::open(path));
  const auto ids = random_ids(30, plain.info().vocabulary);
  BOOST_TEST(hash(all_logits(with_toy, ids, 2, 7)) == hash(all_logits(plain, ids)));
  BOOST_TEST(toy.evals > 0);
}

BOOST_AUTO_TEST_CASE(unknown_ops_and_versions_are_refused_by_name) {  // B16
  const Registry r = registry_without({"select_rows"});
  const std::string path = convert_golden("llama-gqa-6over2");
  auto model = Model::open(path, {.registry = r.get()});
  BOOST_REQUIRE(!model);
  BOOST_TEST(model.error().code() == LINNET_UNSUPPORTED);
  BOOST_TEST(std::string(model.error().details().op) == "select_rows");
  Toy toy;
  linnet_op_def def = toy.def();
  def.min_version = def.max_version = 7;
  BOOST_REQUIRE(add(r.get(), def, 0) == LINNET_OK);
  model = Model::open(path, {.registry = r.get()});
  BOOST_REQUIRE(!model);
  BOOST_TEST(model.error().code() == LINNET_VERSION);
  BOOST_TEST(std::string(model.error().message()).find("version 1") != std::string::npos);
  BOOST_TEST(std::string(model.error().message()).find("7 to 7") != std::string::npos);
  linnet_error error{};
  BOOST_TEST(linnet_registry_remove(r.get(), "no_such_op", &error) == LINNET_INVALID_ARGUMENT);
}

BOOST_AUTO_TEST_CASE(a_plan_that_disagrees_with_the_graph_is_an_error) {
  Toy toy;
  toy.wide = true;
  const Registry r = registry_with(toy);
  Model model = need(Model::open(convert_golden("llama-gqa-6over2"), {.registry = r.get()}));
  const auto plan = linnet::plan(model);
  BOOST_REQUIRE(!plan);
  BOOST_TEST(plan.error().code() == LINNET_BAD_FILE);
  BOOST_TEST(plan.error().details().expected == plan.error().details().actual + 1);
  BOOST_TEST(std::string(plan.error().details().op) == "select_rows");
}

BOOST_AUTO_TEST_CASE(instruction_sets_are_chosen_by_name) {
  linnet_registry* r = nullptr;
  linnet_error error{};
  BOOST_REQUIRE_EQUAL(linnet_registry_create(nullptr, &r, &error), LINNET_OK);
  BOOST_TEST(linnet_register_builtin_ops(r, "mmx", &error) == LINNET_UNSUPPORTED);
  BOOST_TEST(std::string(error.message).find("mmx") != std::string::npos);
  BOOST_TEST(linnet_register_builtin_ops(r, "scalar", &error) == LINNET_OK);
  linnet_registry_release(r);
}

BOOST_AUTO_TEST_CASE(a_model_keeps_its_registry_alive) {
  Toy toy;
  Registry r = registry_with(toy);
  Model model = need(Model::open(convert_golden("llama-gqa-6over2"), {.registry = r.get()}));
  r.reset();
  BOOST_TEST(all_logits(model, random_ids(3, model.info().vocabulary)).size() == 3u);
}

// A converted file, opened, with what tests ask of its graph.
#pragma once
#include "checkpoints.h"
#include "linnet/c.h"

namespace linnet::tests {

class Opened {
 public:
  explicit Opened(const std::string& path) {
    linnet_model_options options;
    linnet_model_options_init(&options);
    options.registry = linnet_builtin_registry();
    options.verify = LINNET_VERIFY_ALL;
    linnet_error error;
    BOOST_REQUIRE_MESSAGE(linnet_model_open(path.c_str(), &options, &model_, &error) == LINNET_OK, error.message);
    info.size = sizeof info;
    linnet_model_get_info(model_, &info);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  ~Opened() { linnet_model_release(model_); }

  const linnet_tensor* tensor(const std::string& name) const {
    for (uint32_t i = 0; i < info.tensors; ++i)
      if (linnet_model_tensor(model_, i)->name == name) return linnet_model_tensor(model_, i);
    return nullptr;
  }
  std::vector<float> floats(const std::string& name) const {  // of an f32 tensor
    const linnet_tensor* t = tensor(name);
    BOOST_REQUIRE_MESSAGE(t && t->dtype == LINNET_F32, name);
    const auto* first = static_cast<const float*>(t->data);
    return {first, first + t->bytes / 4};
  }
  std::string tensor_names() const {
    std::string out;
    for (uint32_t i = 0; i < info.tensors; ++i) out += std::string(linnet_model_tensor(model_, i)->name) + "\n";
    return out;
  }

  linnet_node_listing node(uint32_t i) const {
    linnet_node_listing n;
    BOOST_REQUIRE(linnet_model_node(model_, i, &n) == LINNET_OK);
    return n;
  }
  uint32_t model_nodes() const { return linnet_model_function(model_, 0)->nodes; }
  // The nth node of function 0 that runs `op`.
  linnet_node_listing find(const std::string& op, int nth = 0) const {
    for (uint32_t i = 0; i < model_nodes(); ++i)
      if (node(i).op == op && nth-- == 0) return node(i);
    BOOST_FAIL("no such node: " << op);
    return {};
  }
  // Names of a node's weights; "-" where absent.
  std::vector<std::string> weights(const linnet_node_listing& n) const {
    std::vector<std::string> out;
    for (uint32_t i = 0; i < n.weights; ++i) {
      const uint32_t id = n.args[n.inputs + n.outputs + i];
      out.emplace_back(id == 0xFFFFFFFFu ? "-" : linnet_model_tensor(model_, id)->name);
    }
    return out;
  }
  static const linnet_attr& attribute(const linnet_node_listing& n, const std::string& name) {
    for (uint32_t i = 0; i < n.attrs; ++i)
      if (n.attributes[i].name == name) return n.attributes[i];
    BOOST_FAIL("no attribute " << name << " in " << n.op);
    return n.attributes[0];
  }
  // The graph as text: functions, their ops, how many values they have.
  std::string listing() const {
    std::string out;
    for (uint32_t f = 0; f < info.functions; ++f) {
      const linnet_function* fn = linnet_model_function(model_, f);
      out += std::string(fn->name) + ":";
      for (uint32_t i = 0; i < fn->nodes; ++i) out += std::string(" ") + node(fn->first_node + i).op;
      out += "\n";
    }
    return out;
  }

  linnet_model* get() const { return model_; }
  linnet_model_info info{};

 private:
  linnet_model* model_ = nullptr;
};

// Writes, converts and opens a checkpoint; the file lives as long as this.
struct Made {
  TempDir folder;
  Converted converted;
  std::unique_ptr<Opened> file;
  Made(const Json& config, const Tensors& tensors, const ConvertOptions& options = {}) {
    write_checkpoint(folder / "m", config, tensors);
    converted = convert_folder(folder / "m", options);
    BOOST_REQUIRE_MESSAGE(!converted.code, converted.message);
    file = std::make_unique<Opened>(converted.output);
  }
  const Opened* operator->() const { return file.get(); }
};

}  // namespace linnet::tests

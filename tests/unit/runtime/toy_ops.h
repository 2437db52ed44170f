// A select_rows of the tests' own, written from op.h alone: it does the same, and can be told to fail, to cancel or to spoil a value.
#pragma once
#include <atomic>
#include <cmath>
#include <cstring>

#include "support.h"

namespace linnet::tests {

struct Toy {
  linnet_code fail_with = LINNET_OK;
  bool spoil = false, wide = false;
  uint64_t session_bytes = 0, model_bytes = 0, step_bytes = 0, thread_bytes = 0;
  std::atomic<int>* cancel = nullptr;
  int evals = 0, inits = 0, destroys = 0;
  linnet_code init_with = LINNET_OK;

  linnet_op_def def() {
    linnet_op_def d{};
    d.size = sizeof d;
    d.abi = LINNET_OP_ABI;
    d.name = "select_rows";
    d.min_version = d.max_version = 1;
    d.context = this;
    d.plan = [](void* context, linnet_op_plan* plan) {
      const auto* toy = static_cast<Toy*>(context);
      plan->output_widths[0] = plan->node->inputs[0]->width + (toy->wide ? 1 : 0);
      plan->session_bytes = toy->session_bytes;
      plan->model_bytes = toy->model_bytes;
      plan->step_bytes = toy->step_bytes;
      plan->thread_bytes = toy->thread_bytes;
      return LINNET_OK;
    };
    d.init = [](void* context, const linnet_op_eval* e) {
      auto* toy = static_cast<Toy*>(context);
      if (toy->init_with) return e->host->fail(e, toy->init_with, "the toy does not want to");
      if (toy->model_bytes) std::memset(e->model_memory, 7, toy->model_bytes);
      ++toy->inits;
      return LINNET_OK;
    };
    d.destroy = [](void* context, void*) { ++static_cast<Toy*>(context)->destroys; };
    d.eval = [](const linnet_op_eval* e) {
      auto* toy = static_cast<Toy*>(e->op_context);
      ++toy->evals;
      if (toy->cancel) *toy->cancel = 1;
      if (toy->fail_with) return e->host->fail(e, toy->fail_with, "the toy broke");
      if (toy->step_bytes) std::memset(e->step_memory, 1, toy->step_bytes);
      const linnet_rows &x = e->inputs[0], &y = e->outputs[0];
      for (uint32_t s = 0; s < e->segment_count; ++s) {
        const linnet_segment& g = e->segments[s];
        if (toy->session_bytes) ++static_cast<uint8_t*>(e->session_memory)[g.session * e->session_stride];
        for (uint32_t i = 0; i < g.wanted_rows; ++i)
          std::memcpy(static_cast<float*>(y.data) + (g.wanted_first + i) * y.stride,
                      static_cast<const float*>(x.data) + (g.first_row + g.rows - g.wanted_rows + i) * x.stride, x.width * sizeof(float));
      }
      if (toy->spoil && y.rows) static_cast<float*>(y.data)[0] = NAN;
      return LINNET_OK;
    };
    return d;
  }
};

inline Registry registry_with(Toy& toy, const char* isa = nullptr) {
  Registry r = registry_for(isa);
  const linnet_op_def def = toy.def();
  linnet_error error{};
  BOOST_REQUIRE_MESSAGE(linnet_registry_add(r.get(), &def, 1, &error) == LINNET_OK, error.message);
  return r;
}

}  // namespace linnet::tests

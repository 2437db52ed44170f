// What a text says about a model's matrices: which errors of their weights it would notice.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "converter/checkpoint/checkpoint.h"
#include "converter/quantize/captures.h"
#include "linnet/linnet.h"

namespace linnet::converter {

// Runs the model in floats over a text, in sequences of up to 512 tokens, and adds up H = sum of x x^T of the rows x that each integer matrix
// reads. A H of k x k floats is large, so that only as many as fit are measured in one pass over the text, when a factor is asked for.
// The same text gives the same bits on every machine: activations and H are the runtime's, and it splits no sum.
class Calibration {
 public:
  struct Options {
    std::string text;    // a file; one that ends in .json is an array of token ids
    std::string beside;  // the model in floats is a temporary file in this one's folder
    unsigned threads = 1;
    uint64_t memory = 0;                              // for H: bytes, but always one
    std::function<void(std::string_view what)> beat;  // called from time to time; may throw
    const volatile int* cancel = nullptr;
  };
  // `floats` is the graph before choose_formats, `target` after it; tensors have the same ids. `tokenizer` may be empty where the text is ids.
  Calibration(const Graph& floats, const Graph& target, std::span<const std::byte> tokenizer, const Checkpoint& checkpoint, Options options);
  ~Calibration();

  bool covers(Id tensor) const { return captures_.of_tensor[tensor] != kAbsent; }
  // Upper triangular R, k x k, with R^T R = H and a hundredth of H's mean diagonal on the diagonal, so that what the text did not show stays
  // near the weights. Null where it does not cover the tensor. Valid until the next call.
  const float* factor(Id tensor);

 private:
  struct Run;
  void measure(Id first);
  Options options_;
  Captures captures_;
  std::unique_ptr<Run> run_;
};

// R of R^T R = H + damping * mean diagonal, for a symmetric H of which the upper triangle is given and overwritten; below the diagonal 0 stays.
// False if H is not finite or too far from positive for numbers to tell.
bool factorize(float* h, uint64_t k, double damping, unsigned threads);

}  // namespace linnet::converter

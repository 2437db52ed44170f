// linnet::converter: turns a trained checkpoint into one .linnet file. The program linnet-convert is a thin layer over this.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linnet/types.h"

namespace linnet {

struct ConvertOptions {
  std::string source;                 // a Hugging Face folder: config.json, model.safetensors (or shards and their index), tokenizer.json
  std::string output;                 // empty: NAME-DTYPE.linnet in the current folder
  std::optional<linnet_dtype> dtype;  // of matrices: LINNET_F32, _F16, _BF16, _I8 or _I4. Absent: the checkpoint's own
  bool pure = false;                  // every matrix alike. Else i4 keeps the matrices that suffer most at i8
  // i8, i4: a file whose text says which errors of the weights matter; those are then made up for by the weights beside them. Some thousand
  // tokens like those that the model will read serve well. A name that ends in .json is an array of token ids; other text needs the checkpoint's
  // tokenizer. Takes, until it is done, the disk of a conversion to the checkpoint's own dtype besides. Empty: every weight counts alike.
  std::string calibrate;
  uint64_t calibrate_memory = uint64_t{1} << 30;  // bytes for what is measured at a time: with less, the text is read more often
  uint32_t threads = 0;               // that quantize; 0: the processors this process may use. The bytes do not depend on it
  bool force = false;                 // replace an existing file
  bool tokenizer = true;              // compile tokenizer.json into the file, if there is one

  // Called from time to time with bytes of weights written, bytes in all, and the tensor being written. Must not throw.
  std::function<void(uint64_t done, uint64_t total, std::string_view tensor)> progress;
  // Read between blocks; non-zero ends the conversion with LINNET_CANCELLED. A signal handler may set it.
  const volatile int* cancel = nullptr;
};

struct ConvertReport {
  std::string output;               // path of the file made
  uint64_t bytes = 0;               // its size
  uint64_t parameters = 0;          // numbers in its tensors
  linnet_dtype dtype = LINNET_F32;  // of its matrices
  std::string architecture;         // model_type of the source
  std::string tokenizer;            // kind, or "none"
  std::vector<std::string> notes;   // what was decided that a person may want to know
};

// Never throws. On any failure, or if it is cancelled, nothing is left at the output's name and a file that was there is unchanged.
// The same source and options give the same bytes. report and error may be null.
LINNET_API linnet_code convert(const ConvertOptions& options, ConvertReport* report, linnet_error* error) noexcept;

// The values of config.json's model_type that can be converted.
LINNET_API std::vector<std::string> convertible_architectures();

// "f32", "f16", ...
LINNET_API const char* dtype_name(linnet_dtype dtype) noexcept;

}  // namespace linnet

// What one core of this machine can do at the moment: the roof that a kernel's time is held against. Each figure is measured when it is first
// asked for, and again when it is older than a few seconds, since the bandwidth of shared machines moves by a factor of two within minutes.
#pragma once
#include <cstdint>

namespace linnet::bench {

// GB/s of reading a block over and over: of a cache, or of DRAM. Blocks of one size are taken for one another.
double read_gbs(const void* block, uint64_t bytes);
double fma_gflops();  // f32 multiply-adds in the widest registers there are, two operations each
double int8_gops();   // int8 dot products, two operations a product; 0 where the processor has no such instruction

}  // namespace linnet::bench

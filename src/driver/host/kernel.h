// Matrix products, compiled once per instruction-set level of the processor.
//
// kernel_level.cc is compiled once for each level, each time with the template library's namespace
// renamed, so that the linker cannot take an inline function of one level for another (it keeps one
// of several equal names; the one with AVX-512 in it would end the process on other machines).
//
// This header is included by those files too, so it must stay free of anything inline.
#pragma once

namespace assay::driver {

// c = a * b for row-major n x n matrices that do not overlap.
struct Kernel {
  const char* level;
  void (*multiply_f32)(const float* a, const float* b, float* c, int n);
  void (*multiply_f64)(const double* a, const double* b, double* c, int n);
};

// What this build has, the fastest first, whether or not this CPU can run it; ends with nullptr.
extern const Kernel* const kKernels[];

// Whether this CPU, and the operating system under it, can run `kernel`.
bool CanRun(const Kernel& kernel);

// The kernel named `level`, or the fastest for "". nullptr: not known, or not for this CPU.
const Kernel* FindKernel(const char* level);

}  // namespace assay::driver

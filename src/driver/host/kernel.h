// Matrix products, compiled once per instruction-set level of the processor.
//
// kernel_level.cc is compiled once for each level, each time with the template library's namespace
// renamed. Otherwise the linker, which keeps one of several equal names, could use one level's
// inline function for another; one with AVX-512 in it would end the process on other machines.
//
// Those objects include this header too, so it must not contain anything inline.
//
// Thread safety: any thread; functions and constants only.
#pragma once

namespace assay::driver::host {

// c = a * b for row-major n x n matrices that do not overlap.
struct Kernel {
  const char* level;
  void (*multiply_f32)(const float* a, const float* b, float* c, int n);
  void (*multiply_f64)(const double* a, const double* b, double* c, int n);
};

// All kernels of this build, the fastest first, whether or not this CPU can run them. Ends with
// nullptr.
extern const Kernel* const kKernels[];

// True if this CPU and the operating system can run `kernel`.
bool CanRun(const Kernel& kernel);

// The kernel named `level`; if `level` is empty, the fastest that this CPU can run. nullptr:
// unknown, or this CPU cannot run it.
const Kernel* FindKernel(const char* level);

}  // namespace assay::driver::host

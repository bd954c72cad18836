#include "driver/host/kernel.h"

#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace assay::driver::host {

#if defined(__x86_64__)

extern const Kernel kKernelX86V2;
extern const Kernel kKernelX86V3;
extern const Kernel kKernelX86V4;
const Kernel* const kKernels[] = {&kKernelX86V4, &kKernelX86V3, &kKernelX86V2, nullptr};

namespace {

// __builtin_cpu_supports accounts for the registers that the operating system saves on a context
// switch. But in the oldest supported compiler it has neither the levels by name nor the single
// features tested here.
bool HasBits(unsigned leaf, unsigned ecx_bits) {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(leaf, &eax, &ebx, &ecx, &edx) != 0 && (ecx & ecx_bits) == ecx_bits;
}

bool HasV2() {
  constexpr unsigned kCmpxchg16b = 1U << 13;
  constexpr unsigned kLahf = 1U << 0;
  return __builtin_cpu_supports("sse3") && __builtin_cpu_supports("ssse3") &&
         __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("sse4.2") &&
         __builtin_cpu_supports("popcnt") && HasBits(1, kCmpxchg16b) && HasBits(0x80000001, kLahf);
}

bool HasV3() {
  constexpr unsigned kMovbe = 1U << 22;
  constexpr unsigned kF16c = 1U << 29;
  constexpr unsigned kLzcnt = 1U << 5;
  return HasV2() && __builtin_cpu_supports("avx") && __builtin_cpu_supports("avx2") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("fma") && HasBits(1, kMovbe | kF16c) && HasBits(0x80000001, kLzcnt);
}

bool HasV4() {
  return HasV3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

}  // namespace

bool CanRun(const Kernel& kernel) {
  if (&kernel == &kKernelX86V4) return HasV4();
  if (&kernel == &kKernelX86V3) return HasV3();
  return HasV2();
}

#else

extern const Kernel kKernelBaseline;
const Kernel* const kKernels[] = {&kKernelBaseline, nullptr};

bool CanRun(const Kernel&) { return true; }

#endif

const Kernel* FindKernel(const char* level) {
  for (const Kernel* const* at = kKernels; *at != nullptr; ++at) {
    const bool wanted = level[0] == '\0' || std::strcmp(level, (*at)->level) == 0;
    if (wanted && CanRun(**at)) return *at;
  }
  return nullptr;
}

}  // namespace assay::driver::host

// The host's aic test: matrix products on every core of a device, compared bit for bit.
//
// The operands are integers so small that every sum of products is exact in the float type, in any
// order of the additions and with or without fused multiply-add. So each instruction-set level must
// give exactly the bits that integer arithmetic gives.
//
// On a mismatch (docs/design.md, decision 10) the test computes the product again on the same core:
//   faulty   the second result differs from the first: the hardware was wrong once
//   not_run  the same wrong result again: it could be a defect of the core or of this program; the
//            detail has the values
// Each core must first pass a known-answer test; otherwise it is not tested, and the op is not_run.
// The other cores are tested all the same: a fault of theirs decides (verdict.h).
//
// Thread safety: none; RunProducts uses one thread per core and joins them.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "driver/driver.h"
#include "driver/host/fault.h"
#include "driver/host/kernel.h"

namespace assay::driver::host {

inline constexpr int kMatrixSize = 192;

template <class Real>
struct Problem {
  std::vector<Real> a;
  std::vector<Real> b;
  std::vector<Real> product;  // by integer arithmetic
};

struct Problems {
  std::vector<Problem<float>> f32;
  std::vector<Problem<double>> f64;
};

// Returns the same problems every time. Takes about 50 ms and 4 MB.
Problems MakeProblems();

// A hash over the bits of all products, in order.
std::uint64_t HashOf(const Problems& problems);

// The known answer: HashOf(MakeProblems()) as another program computed it in unbounded integers.
inline constexpr std::uint64_t kKnownAnswer = 0x6EA1EF65335B7B6D;

struct ProductsTest {
  std::vector<int> cores;
  const Kernel* kernel = nullptr;
  std::chrono::milliseconds duration{0};
  Fault fault;  // the fault planted for this device and op, or none
};

OpReport RunProducts(const ProductsTest& test, Progress* progress);

}  // namespace assay::driver::host

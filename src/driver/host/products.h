// The host's aic test: matrix products on every core of a device, compared bit for bit.
//
// Operands are integers so small that every sum of products is exact in the float type, whatever
// the order of the additions and with or without fused multiply-add. So each instruction-set level
// has to give the very bits that integer arithmetic gives.
//
// What a mismatch means (docs/design.md, decision 10): the product is computed anew on the same
// core. If that differs from the first result, the hardware was wrong once: faulty. If it is wrong
// in the same way again, nothing tells a defect of the core from one of this program: not_run, with
// what was seen. Before anything counts, each core has to pass a known-answer test.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "driver/driver.h"
#include "driver/host/fault.h"
#include "driver/host/kernel.h"

namespace assay::driver {

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

// Always the same ones. Takes some 50 ms and 4 MB.
Problems MakeProblems();

// Over the bits of all products, in order.
std::uint64_t HashOf(const Problems& problems);

// HashOf(MakeProblems()), computed beforehand by another program in unbounded integers: the known
// answer.
inline constexpr std::uint64_t kKnownAnswer = 0x6EA1EF65335B7B6D;

struct ProductsTest {
  std::vector<int> cores;
  const Kernel* kernel = nullptr;
  std::chrono::milliseconds duration{0};
  Fault fault;  // of this device and op, or none
};

OpReport RunProducts(const ProductsTest& test, Progress* progress);

}  // namespace assay::driver

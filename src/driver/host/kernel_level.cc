// Compiled once per level: meson.build sets the instructions and defines `Eigen` as a name of the
// level's own. See kernel.h.
#include <Eigen/Core>

#include "driver/host/kernel.h"

namespace assay::driver::host {
namespace {

template <class Real>
void Multiply(const Real* a, const Real* b, Real* c, int n) {
  using Matrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::Map<Matrix>(c, n, n).noalias() =
      Eigen::Map<const Matrix>(a, n, n) * Eigen::Map<const Matrix>(b, n, n);
}

}  // namespace

extern const Kernel ASSAY_KERNEL;
const Kernel ASSAY_KERNEL = {ASSAY_KERNEL_LEVEL, Multiply<float>, Multiply<double>};

}  // namespace assay::driver::host

#include "driver/host/products.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>
#include <type_traits>

#include "driver/host/cpu.h"
#include "driver/host/verdict.h"

namespace assay::driver::host {
namespace {

constexpr int kProblemsPerType = 3;
constexpr std::size_t kElements = std::size_t{kMatrixSize} * kMatrixSize;

// The largest operands for which sums of kMatrixSize products stay exact: below 2^24 and 2^53.
constexpr std::int32_t kOperandMaxF32 = 255;
constexpr std::int32_t kOperandMaxF64 = (1 << 22) - 1;
static_assert(std::int64_t{kMatrixSize} * kOperandMaxF32 * kOperandMaxF32 < std::int64_t{1} << 24);
static_assert(std::int64_t{kMatrixSize} * kOperandMaxF64 * kOperandMaxF64 < std::int64_t{1} << 53);

// splitmix64: small, and gives the same numbers on every machine.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}
  // A uniformly distributed number in [-max, max].
  std::int32_t Next(std::int32_t max) {
    state_ += 0x9E3779B97F4A7C15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    z ^= z >> 31;
    const auto span = static_cast<std::uint64_t>(2 * std::int64_t{max} + 1);
    return static_cast<std::int32_t>(static_cast<std::int64_t>(z % span) - max);
  }

 private:
  std::uint64_t state_;
};

template <class Real>
Problem<Real> MakeProblem(std::uint64_t seed) {
  constexpr std::int32_t kMax = std::is_same_v<Real, float> ? kOperandMaxF32 : kOperandMaxF64;
  Numbers numbers(seed);
  std::vector<std::int32_t> a(kElements);
  std::vector<std::int32_t> b(kElements);
  for (std::int32_t& value : a) value = numbers.Next(kMax);
  for (std::int32_t& value : b) value = numbers.Next(kMax);
  Problem<Real> problem;
  problem.a.assign(a.begin(), a.end());
  problem.b.assign(b.begin(), b.end());
  problem.product.reserve(kElements);
  std::vector<std::int64_t> row(kMatrixSize);
  for (std::size_t i = 0; i < kMatrixSize; ++i) {
    std::fill(row.begin(), row.end(), 0);
    for (std::size_t k = 0; k < kMatrixSize; ++k) {
      const std::int64_t factor = a[i * kMatrixSize + k];
      const std::int32_t* from = &b[k * kMatrixSize];
      for (std::size_t j = 0; j < kMatrixSize; ++j) row[j] += factor * from[j];
    }
    for (std::int64_t sum : row) problem.product.push_back(static_cast<Real>(sum));
  }
  return problem;
}

template <class Real>
std::uint64_t BitsOf(Real value) {
  std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t> bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

template <class Real>
bool SameBits(const std::vector<Real>& x, const std::vector<Real>& y) {
  return std::memcmp(x.data(), y.data(), x.size() * sizeof(Real)) == 0;
}

template <class Real>
void FlipBit(std::vector<Real>* values) {
  auto* bytes = reinterpret_cast<unsigned char*>(&(*values)[kElements / 3]);
  bytes[1] = static_cast<unsigned char>(bytes[1] ^ 0x10);
}

// Text that shows the first element that differs. REQUIRES: there is one.
template <class Real>
std::string DescribeDifference(const std::vector<Real>& expected, const std::vector<Real>& got) {
  std::size_t at = 0;
  while (BitsOf(expected[at]) == BitsOf(got[at])) ++at;
  char text[160];
  std::snprintf(text, sizeof text,
                "element (%zu,%zu) is %.0f (0x%" PRIx64 ") instead of %.0f (0x%" PRIx64 ")",
                at / kMatrixSize, at % kMatrixSize, static_cast<double>(got[at]), BitsOf(got[at]),
                static_cast<double>(expected[at]), BitsOf(expected[at]));
  return text;
}

// The part of the test that one core's thread runs. Other threads read the results only after they
// have joined it.
class CoreTest {
 public:
  CoreTest(const Problems& problems, const Kernel& kernel, int core, Fault fault)
      : problems_(problems), kernel_(kernel), core_(core), fault_(fault) {}

  void Run(WorkClock* clock) {
    if (!AnswersAreRight()) return;
    while (!clock->Over(rounds_ + 1)) {
      ++rounds_;
      in_round_ = 0;
      for (const auto& problem : problems_.f32) Step(problem, kernel_.multiply_f32, &f32_, clock);
      for (const auto& problem : problems_.f64) Step(problem, kernel_.multiply_f64, &f64_, clock);
    }
    worked_ = clock->time().worked();
    passed_ = clock->time().passed();
  }

  std::int64_t products() const { return products_; }
  std::int64_t rounds() const { return rounds_; }
  std::int64_t mismatches() const { return mismatches_; }
  std::chrono::nanoseconds worked() const { return worked_; }
  std::chrono::nanoseconds passed() const { return passed_; }
  // Products per second of the time worked.
  double Rate() const {
    const double seconds = std::chrono::duration<double>(worked_).count();
    return seconds > 0 ? static_cast<double>(products_) / seconds : 0;
  }
  const std::string& wrong_answer() const { return wrong_answer_; }
  const std::string& faulty() const { return faulty_; }
  const std::string& repeated() const { return repeated_; }

 private:
  template <class Real>
  struct Results {
    std::vector<Real> first = std::vector<Real>(kElements);
    std::vector<Real> again = std::vector<Real>(kElements);
  };
  template <class Real>
  using Multiply = void (*)(const Real*, const Real*, Real*, int);

  std::string OnCore() const { return "core " + std::to_string(core_) + ": "; }

  bool AnswersAreRight() {
    const auto right = [&](const auto& problem, auto multiply, auto* results) {
      multiply(problem.a.data(), problem.b.data(), results->first.data(), kMatrixSize);
      if (fault_.kind == FaultKind::kAnswer) FlipBit(&results->first);
      if (SameBits(problem.product, results->first)) return true;
      wrong_answer_ = "known-answer test failed, " + OnCore() +
                      DescribeDifference(problem.product, results->first);
      return false;
    };
    return right(problems_.f32[0], kernel_.multiply_f32, &f32_) &&
           right(problems_.f64[0], kernel_.multiply_f64, &f64_);
  }

  template <class Real>
  void Step(const Problem<Real>& problem, Multiply<Real> multiply, Results<Real>* results,
            WorkClock* clock) {
    if (clock->Over(rounds_)) return;
    const bool planted = in_round_++ == 0;
    const bool stuck = planted && fault_.Is(FaultKind::kStuck, rounds_);
    const bool flip = planted && fault_.Is(FaultKind::kFlip, rounds_);
    multiply(problem.a.data(), problem.b.data(), results->first.data(), kMatrixSize);
    ++products_;
    if (flip || stuck) FlipBit(&results->first);
    if (SameBits(problem.product, results->first)) return;

    ++mismatches_;
    multiply(problem.a.data(), problem.b.data(), results->again.data(), kMatrixSize);
    if (stuck) FlipBit(&results->again);
    const std::string what = OnCore() + "round " + std::to_string(rounds_) + ", " +
                             (sizeof(Real) == 4 ? "float" : "double") +
                             " product: " + DescribeDifference(problem.product, results->first);
    if (SameBits(results->first, results->again)) {
      if (repeated_.empty()) {
        repeated_ = what +
                    "; computed again on the same core it has the same wrong value, so it is not "
                    "shown to be a hardware fault";
      }
    } else if (faulty_.empty()) {
      faulty_ = what + (SameBits(problem.product, results->again)
                            ? "; computed again on the same core it is right"
                            : "; computed again on the same core it is wrong in another way");
    }
  }

  const Problems& problems_;
  const Kernel& kernel_;
  const int core_;
  const Fault fault_;
  Results<float> f32_;
  Results<double> f64_;
  std::int64_t rounds_ = 0;
  std::int64_t in_round_ = 0;
  std::int64_t products_ = 0;
  std::int64_t mismatches_ = 0;
  std::chrono::nanoseconds worked_{0};
  std::chrono::nanoseconds passed_{0};
  std::string wrong_answer_;
  std::string faulty_;
  std::string repeated_;
};

OpReport Judge(const std::vector<CoreTest>& cores, const base::Status& ran, const char* level) {
  constexpr double kOperations = 2.0 * kMatrixSize * kMatrixSize * kMatrixSize;
  std::int64_t products = 0;
  std::int64_t rounds = 0;
  std::int64_t mismatches = 0;
  std::size_t worked_cores = 0;
  std::chrono::nanoseconds worked{0};
  std::chrono::nanoseconds passed{0};
  double rate = 0;
  Verdict verdict;
  if (!ran.ok()) verdict.AddNotRun(ran.text());
  for (const CoreTest& core : cores) {
    if (core.products() > 0) ++worked_cores;
    products += core.products();
    rounds += core.rounds();
    mismatches += core.mismatches();
    worked = std::max(worked, core.worked());
    passed = std::max(passed, core.passed());
    rate += core.Rate() * kOperations;
    verdict.AddFault(core.faulty());
    verdict.AddNotRun(core.wrong_answer());
    verdict.AddNotRun(core.repeated());
  }
  char done[240];
  std::snprintf(done, sizeof done,
                "%s on %zu %s, %.1f GFLOP/s, %" PRId64 " exact products in %" PRId64
                " rounds, %s, %" PRId64 " mismatches",
                level, worked_cores, worked_cores == 1 ? "core" : "cores", rate / 1e9, products,
                rounds, TimeText(worked, passed).c_str(), mismatches);
  return verdict.Report(done);
}

}  // namespace

Problems MakeProblems() {
  Problems problems;
  for (std::uint64_t i = 0; i < kProblemsPerType; ++i) {
    problems.f32.push_back(MakeProblem<float>(2 * i + 1));
    problems.f64.push_back(MakeProblem<double>(2 * i + 2));
  }
  return problems;
}

std::uint64_t HashOf(const Problems& problems) {
  std::uint64_t hash = 0xCBF29CE484222325;
  const auto add = [&](const auto& list) {
    for (const auto& problem : list) {
      for (const auto value : problem.product) hash = (hash ^ BitsOf(value)) * 0x100000001B3;
    }
  };
  add(problems.f32);
  add(problems.f64);
  return hash;
}

OpReport RunProducts(const ProductsTest& test, Progress* progress) {
  const Problems problems = MakeProblems();
  if (HashOf(problems) != kKnownAnswer) {
    return {core::OutcomeCode::kNotRun,
            "known-answer test failed: integer arithmetic on this machine gives wrong products"};
  }
  std::vector<CoreTest> cores;
  cores.reserve(test.cores.size());
  for (std::size_t i = 0; i < test.cores.size(); ++i) {
    cores.emplace_back(problems, *test.kernel, test.cores[i], i == 0 ? test.fault : Fault());
  }
  const base::Status ran =
      RunOnCores(test.cores, test.duration, std::string("matrix products, ") + test.kernel->level,
                 progress, [&](std::size_t i, WorkClock* clock) { cores[i].Run(clock); });
  return Judge(cores, ran, test.kernel->level);
}

}  // namespace assay::driver::host

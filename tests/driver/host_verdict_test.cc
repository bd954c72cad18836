// A part of a host test that could not run must not hide a fault that another part has proven.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "driver/host/copies.h"
#include "driver/host/cpu.h"
#include "driver/host/products.h"
#include "driver/host/verdict.h"

namespace assay::driver {

using namespace core;
using namespace host;
using std::chrono::milliseconds;

namespace {

constexpr int kNoSuchCore = 99999;
const Fault kNoFault;
const Fault kFlip{0, Op::kAic, FaultKind::kFlip, 1};
const Fault kStuck{0, Op::kAic, FaultKind::kStuck, 1};

class Nobody : public Progress {
 public:
  void Report(std::int32_t, std::string_view) override {}
};
Nobody nobody;

int FirstCore() { return AllowedCores()->front(); }

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A kernel whose threads differ: one always computes wrong, the others are wrong once. The threads
// number themselves, because a test machine may have one core only.
std::atomic<int> threads_seen = 0;
std::atomic<int> wrong_thread = -1;
constexpr int kWrongCall = 5;  // after the known-answer test
thread_local int this_thread = -1;
thread_local int calls = 0;

void MultiplyWrongly(const float* a, const float* b, float* c, int n) {
  if (this_thread < 0) this_thread = threads_seen.fetch_add(1);
  FindKernel("")->multiply_f32(a, b, c, n);
  const bool wrong_now = ++calls == kWrongCall;
  if (this_thread == wrong_thread || wrong_now) c[7] += 1;
}

Kernel WrongKernel(int always_wrong_thread) {
  threads_seen = 0;
  wrong_thread = always_wrong_thread;
  return {"wrong", MultiplyWrongly, FindKernel("")->multiply_f64};
}

OpReport RunOnePeerOf(const std::vector<int>& cores, const Fault& fault, bool with_lost_member) {
  std::vector<GroupMember> members = {{100, 0}, {101, 1}};
  if (with_lost_member) members.push_back({102, 2});
  auto tested = Copies::Prepare({cores, milliseconds(50), fault}, {members, 0});
  auto peer = Copies::Prepare({{FirstCore()}, milliseconds(50), kNoFault}, {members, 1});
  REQUIRE(tested.ok());
  REQUIRE(peer.ok());
  std::vector<std::string> blobs = {(*tested)->blob(), (*peer)->blob()};
  if (with_lost_member) blobs.push_back("a member that was lost");
  std::thread other([&] { (*peer)->Run(blobs, &nobody); });
  const OpReport report = (*tested)->Run(blobs, &nobody);
  other.join();
  return report;
}

}  // namespace

TEST_CASE("a verdict is the proven fault, then the reasons not to have run, then ok") {
  Verdict verdict;
  CHECK(verdict.Report("3 rounds").code == OutcomeCode::kOk);
  CHECK(verdict.Report("3 rounds").detail == "3 rounds");
  verdict.AddFault("");
  verdict.AddNotRun("");
  CHECK(verdict.Report("").code == OutcomeCode::kOk);
  verdict.AddNotRun("core 1 is away");
  CHECK(verdict.Report("3 rounds").code == OutcomeCode::kNotRun);
  CHECK(verdict.Report("3 rounds").detail == "core 1 is away (3 rounds)");
  verdict.AddFault("core 2 is wrong");
  verdict.AddFault("core 3 is wrong");
  CHECK(verdict.Report("").code == OutcomeCode::kFaulty);
  CHECK(verdict.Report("").detail == "core 2 is wrong; also: core 1 is away");
  for (const char* reason : {"b", "c", "d", "e"}) verdict.AddNotRun(reason);
  CHECK(verdict.Report("").detail ==
        "core 2 is wrong; also: core 1 is away; b; c; and 2 more reasons");
}

TEST_CASE("RunOnCores works on the other cores if a core cannot run") {
  std::vector<int> rounds(2, 0);
  const base::Status status = RunOnCores({kNoSuchCore, FirstCore()}, milliseconds(20), "", nullptr,
                                         [&](std::size_t i, WorkClock* clock) {
                                           while (!clock->Over(rounds[i] + 1)) {
                                             ++rounds[i];
                                             std::this_thread::sleep_for(milliseconds(1));
                                           }
                                         });
  CHECK(Has(status.text(), "cannot run on core 99999"));
  CHECK(rounds[0] == 0);
  CHECK(rounds[1] > 1);
}

TEST_CASE("a core that cannot run does not hide a fault in another core's products") {
  const Kernel* kernel = FindKernel("");
  const OpReport faulty =
      RunProducts({{FirstCore(), kNoSuchCore}, kernel, milliseconds(50), kFlip}, &nobody);
  INFO(faulty.detail);
  CHECK(faulty.code == OutcomeCode::kFaulty);
  CHECK(Has(faulty.detail, "computed again on the same core it is right"));
  CHECK(Has(faulty.detail, "also: cannot run on core 99999"));

  const OpReport not_run =
      RunProducts({{FirstCore(), kNoSuchCore}, kernel, milliseconds(50), kNoFault}, &nobody);
  CHECK(not_run.code == OutcomeCode::kNotRun);
  CHECK(Has(not_run.detail, "cannot run on core 99999"));
}

TEST_CASE("a failed known-answer test does not hide a fault in another core's products") {
  for (const int always_wrong : {0, 1}) {
    const Kernel kernel = WrongKernel(always_wrong);
    const OpReport report =
        RunProducts({{FirstCore(), FirstCore()}, &kernel, milliseconds(100), kNoFault}, &nobody);
    INFO(report.detail);
    CHECK(report.code == OutcomeCode::kFaulty);
    CHECK(Has(report.detail, "computed again on the same core it is right"));
    CHECK(Has(report.detail, "also: known-answer test failed, core "));
  }
}

TEST_CASE("a wrong product that repeats does not hide a later one that does not") {
  const Kernel kernel = WrongKernel(-1);
  const OpReport report = RunProducts({{FirstCore()}, &kernel, milliseconds(100), kStuck}, &nobody);
  INFO(report.detail);
  CHECK(report.code == OutcomeCode::kFaulty);
  CHECK(Has(report.detail, "computed again on the same core it is right"));
  CHECK(Has(report.detail, "not shown to be a hardware fault"));
}

TEST_CASE("a core that cannot run does not hide a fault in another core's copies") {
  const std::vector<int> cores = {FirstCore(), kNoSuchCore};
  const OpReport faulty = RunOnePeerOf(cores, kFlip, false);
  INFO(faulty.detail);
  CHECK(faulty.code == OutcomeCode::kFaulty);
  CHECK(Has(faulty.detail, "copied again on the same core it is right"));
  CHECK(Has(faulty.detail, "also: cannot run on core 99999"));
  CHECK(RunOnePeerOf(cores, kNoFault, false).code == OutcomeCode::kNotRun);
  CHECK_FALSE(
      Copies::Prepare({{kNoSuchCore}, milliseconds(50), kNoFault}, {{{100, 0}, {101, 1}}, 0}).ok());
}

TEST_CASE("a peer whose buffer is lost does not hide a fault in the copies with another peer") {
  const OpReport faulty = RunOnePeerOf({FirstCore()}, kFlip, true);
  INFO(faulty.detail);
  CHECK(faulty.code == OutcomeCode::kFaulty);
  CHECK(Has(faulty.detail, "copy to rank 101 (device 1)"));
  CHECK(Has(faulty.detail, "also: cannot use the buffer of rank 102 (device 2)"));

  const OpReport not_run = RunOnePeerOf({FirstCore()}, kNoFault, true);
  CHECK(not_run.code == OutcomeCode::kNotRun);
  CHECK(Has(not_run.detail, "cannot use the buffer of rank 102 (device 2)"));
  CHECK(Has(not_run.detail, "(1 peer, out "));
}

TEST_CASE("wrong data in a peer's buffer does not hide a fault in the copies to that peer") {
  // The copies from the peer can prove nothing, because its source is wrong.
  // A copy to the peer is wrong once, in the same round.
  const std::vector<GroupMember> members = {{100, 0}, {101, 1}};
  auto tested = Copies::Prepare({{FirstCore()}, milliseconds(300), kFlip}, {members, 0});
  const Fault source{1, Op::kP2p, FaultKind::kSource, 1};
  auto peer = Copies::Prepare({{FirstCore()}, milliseconds(300), source}, {members, 1});
  REQUIRE(tested.ok());
  REQUIRE(peer.ok());
  const std::vector<std::string> blobs = {(*tested)->blob(), (*peer)->blob()};
  std::thread other([&] { (*peer)->Run(blobs, &nobody); });
  const OpReport report = (*tested)->Run(blobs, &nobody);
  other.join();
  INFO(report.detail);
  CHECK(report.code == OutcomeCode::kFaulty);
  CHECK(Has(report.detail, "copied again on the same core it is right"));
}

TEST_CASE("the duration is given with the time that passed if a test was stopped meanwhile") {
  CHECK(TimeText(milliseconds(1049), milliseconds(1200)) == "1.0 s");
  CHECK(TimeText(milliseconds(2000), milliseconds(7300)) == "2.0 s (7.3 s passed)");
}

namespace {

// Runs `test` in a process of its own, stops that for `stopped` when it has begun, and returns the
// detail of its report.
class Beginning : public Progress {
 public:
  explicit Beginning(int fd) : fd_(fd) {}
  void Report(std::int32_t percent, std::string_view) override {
    if (percent == 0 || said_) return;
    said_ = true;
    if (write(fd_, "b", 1) != 1) _exit(1);
  }

 private:
  const int fd_;
  bool said_ = false;
};

template <class Test>
std::string DetailOfStopped(milliseconds stopped, Test test) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    Beginning progress(ends[1]);
    const std::string detail = test(&progress);
    _exit(write(ends[1], detail.data(), detail.size()) == static_cast<ssize_t>(detail.size()) ? 0
                                                                                              : 1);
  }
  close(ends[1]);
  char begun = 0;
  CHECK(read(ends[0], &begun, 1) == 1);
  CHECK(kill(child, SIGSTOP) == 0);
  std::this_thread::sleep_for(stopped);
  CHECK(kill(child, SIGCONT) == 0);
  std::string detail;
  char chunk[1024];
  for (ssize_t got = 0; (got = read(ends[0], chunk, sizeof chunk)) > 0;) {
    detail.append(chunk, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  return detail;
}

}  // namespace

TEST_CASE("time in which the process is stopped counts neither as work nor in the rates") {
  const std::string detail = DetailOfStopped(milliseconds(1500), [](Progress* progress) {
    return RunProducts({{FirstCore()}, FindKernel(""), milliseconds(1000), kNoFault}, progress)
        .detail;
  });
  INFO(detail);
  double rate = 0;
  double products = 0;
  double rounds = 0;
  double worked = 0;
  double passed = 0;
  const std::size_t numbers = detail.find("core, ");
  REQUIRE(numbers != std::string::npos);
  REQUIRE(std::sscanf(detail.c_str() + numbers,
                      "core, %lf GFLOP/s, %lf exact products in %lf rounds, %lf s (%lf s passed)",
                      &rate, &products, &rounds, &worked, &passed) == 5);
  CHECK(worked >= 1.0);
  CHECK(passed >= worked + 1.3);
  const double operations = 2.0 * kMatrixSize * kMatrixSize * kMatrixSize;
  CHECK(rate == Approx(products * operations / worked / 1e9).epsilon(0.1));
}

TEST_CASE("a p2p test that is stopped copies for its whole duration") {
  const std::string detail = DetailOfStopped(milliseconds(1500), [](Progress* progress) {
    const std::vector<GroupMember> members = {{100, 0}, {101, 1}};
    auto tested = Copies::Prepare({{FirstCore()}, milliseconds(1000), kNoFault}, {members, 0});
    auto peer = Copies::Prepare({{FirstCore()}, milliseconds(1), kNoFault}, {members, 1});
    if (!tested.ok() || !peer.ok()) return std::string("not prepared");
    const std::vector<std::string> blobs = {(*tested)->blob(), (*peer)->blob()};
    std::thread other([&] { (*peer)->Run(blobs, &nobody); });
    const OpReport report = (*tested)->Run(blobs, progress);
    other.join();
    return report.detail;
  });
  INFO(detail);
  double worked = 0;
  double passed = 0;
  const std::size_t numbers = detail.find(" rounds, ");
  REQUIRE(numbers != std::string::npos);
  REQUIRE(std::sscanf(detail.c_str() + numbers, " rounds, %lf s (%lf s passed)", &worked,
                      &passed) == 2);
  CHECK(worked >= 1.0);
  CHECK(passed >= worked + 1.3);
}

}  // namespace assay::driver

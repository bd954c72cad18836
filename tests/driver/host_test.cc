#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "driver/host/cpu.h"
#include "driver/host/fault.h"
#include "driver/host/host_driver.h"
#include "driver/host/kernel.h"
#include "driver/host/products.h"
#include "driver/host/shared_buffer.h"

using namespace assay;
using namespace assay::base;
using namespace assay::core;
using namespace assay::driver;
using namespace assay::driver::host;

namespace {

class Silent : public driver::Progress {
 public:
  void Report(std::int32_t percent, std::string_view) override {
    CHECK(percent >= 0);
    CHECK(percent <= 99);
  }
};

// Ignores progress; for devices on several threads, because Catch2's checks are not thread-safe.
class Nobody : public driver::Progress {
 public:
  void Report(std::int32_t, std::string_view) override {}
};

Options HostOptions(const std::string& fault) {
  Options options;
  options.kind = "host";
  options.Set("host-devices", 2);
  options.Set("host-seconds", 50);
  options.Set("host-fault", fault);
  return options;
}

std::unique_ptr<Driver> MakeDriver(const Options& options) {
  Result<std::unique_ptr<Driver>> made = Make(options);
  REQUIRE(made.ok());
  return *std::move(made);
}

OpReport RunAicWith(const Options& options) {
  Silent silent;
  Result<std::unique_ptr<Device>> device = MakeDriver(options)->Open(0);
  REQUIRE(device.ok());
  return (*device)->RunAic(&silent);
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Runs a p2p test over all devices of the host in this one process: each device has a thread here
// instead of a process.
std::vector<OpReport> RunP2pWith(const Options& options, std::int32_t count) {
  std::vector<GroupMember> members;
  for (std::int32_t i = 0; i < count; ++i) members.push_back({i + 100, i});
  const auto host = MakeDriver(options);
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<std::string> blobs;
  for (std::int32_t i = 0; i < count; ++i) {
    devices.push_back(*host->Open(i));
    Result<std::string> blob = devices.back()->PrepareP2p({members, i});
    REQUIRE(blob.ok());
    blobs.push_back(*blob);
  }
  Nobody nobody;
  std::vector<OpReport> reports(devices.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    threads.emplace_back([&, i] {
      reports[i] = devices[i]->RunP2p({members, static_cast<std::int32_t>(i)}, blobs, &nobody);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return reports;
}

}  // namespace

TEST_CASE("SplitCores makes disjoint sets of neighbouring cores, or shares cores if too few") {
  using Sets = std::vector<std::vector<int>>;
  CHECK(SplitCores({0, 1}, 2) == Sets{{0}, {1}});
  CHECK(SplitCores({2, 3, 8, 9, 10}, 2) == Sets{{2, 3}, {8, 9, 10}});
  CHECK(SplitCores({5}, 3) == Sets{{5}, {5}, {5}});
  CHECK(SplitCores({0, 1}, 3) == Sets{{0}, {1}, {0}});
  CHECK(CoresText({0, 1, 2, 8, 10, 11}) == "0-2,8,10-11");
}

TEST_CASE("the integer products are the known answer") {
  CHECK(HashOf(MakeProblems()) == kKnownAnswer);
}

TEST_CASE("each instruction-set level of this CPU gives the exact products") {
  const Problems problems = MakeProblems();
  int levels = 0;
  for (const Kernel* const* at = kKernels; *at != nullptr; ++at) {
    if (!CanRun(**at)) continue;
    ++levels;
    INFO((*at)->level);
    std::vector<float> f32(std::size_t{kMatrixSize} * kMatrixSize);
    for (const Problem<float>& problem : problems.f32) {
      (*at)->multiply_f32(problem.a.data(), problem.b.data(), f32.data(), kMatrixSize);
      CHECK(f32 == problem.product);
    }
    std::vector<double> f64(f32.size());
    for (const Problem<double>& problem : problems.f64) {
      (*at)->multiply_f64(problem.a.data(), problem.b.data(), f64.data(), kMatrixSize);
      CHECK(f64 == problem.product);
    }
    CHECK(FindKernel((*at)->level) == *at);
    Options options = HostOptions("");
    options.Set("host-level", (*at)->level);
    const OpReport report = RunAicWith(options);
    CHECK(report.code == OutcomeCode::kOk);
    CHECK(Has(report.detail, (*at)->level));
    CHECK(Has(report.detail, " 0 mismatches"));
  }
  CHECK(levels > 0);
}

TEST_CASE("the error for an unsupported level lists the supported ones") {
  Options options = HostOptions("");
  options.Set("host-level", "x86-64-v9");
  const Status status = Make(options).status();
  CHECK(status.code() == Code::kUnsupported);
  CHECK(Has(status.text(), "x86-64-v9"));
  CHECK(Has(status.text(), FindKernel("")->level));
}

TEST_CASE("a bit that is wrong once in a product is faulty; one that stays wrong is not_run") {
  const OpReport flip = RunAicWith(HostOptions("0:aic=flip@1"));
  CHECK(flip.code == OutcomeCode::kFaulty);
  CHECK(Has(flip.detail, "round 1"));
  CHECK(Has(flip.detail, "computed again on the same core it is right"));
  CHECK(Has(flip.detail, " 1 mismatches"));

  const OpReport stuck = RunAicWith(HostOptions("0:aic=stuck@1"));
  CHECK(stuck.code == OutcomeCode::kNotRun);
  CHECK(Has(stuck.detail, "not shown to be a hardware fault"));

  const OpReport answer = RunAicWith(HostOptions("0:aic=answer@0"));
  CHECK(answer.code == OutcomeCode::kNotRun);
  CHECK(Has(answer.detail, "known-answer test failed"));

  // A fault of another device or another op has no effect.
  CHECK(RunAicWith(HostOptions("1:aic=flip@1")).code == OutcomeCode::kOk);
  CHECK(RunAicWith(HostOptions("0:p2p=flip@1")).code == OutcomeCode::kOk);
}

TEST_CASE("copies between devices are checked in both directions") {
  const std::vector<OpReport> reports = RunP2pWith(HostOptions(""), 2);
  for (const OpReport& report : reports) {
    CHECK(report.code == OutcomeCode::kOk);
    CHECK(Has(report.detail, "1 peer, out "));
    CHECK(Has(report.detail, " 0 mismatches"));
  }
  Options many = HostOptions("");
  many.Set("host-devices", 5);
  for (const OpReport& report : RunP2pWith(many, 5)) {
    CHECK(report.code == OutcomeCode::kOk);
    CHECK(Has(report.detail, "4 peers"));
  }
}

TEST_CASE("a flipped bit in a copy makes only its own device faulty") {
  const std::vector<OpReport> flip = RunP2pWith(HostOptions("1:p2p=flip@1"), 2);
  CHECK(flip[0].code == OutcomeCode::kOk);
  CHECK(flip[1].code == OutcomeCode::kFaulty);
  CHECK(Has(flip[1].detail, "copy to rank 100 (device 0)"));
  CHECK(Has(flip[1].detail, "copied again on the same core it is right"));

  const std::vector<OpReport> stuck = RunP2pWith(HostOptions("1:p2p=stuck@1"), 2);
  CHECK(stuck[0].code == OutcomeCode::kOk);
  CHECK(stuck[1].code == OutcomeCode::kNotRun);
  CHECK(Has(stuck[1].detail, "not shown to be a hardware fault"));
}

TEST_CASE("a bit that changes in a device's buffer makes that device faulty, never its peer") {
  const std::vector<OpReport> reports = RunP2pWith(HostOptions("0:p2p=source@1"), 2);
  INFO(reports[0].detail);
  INFO(reports[1].detail);
  CHECK(reports[0].code == OutcomeCode::kFaulty);
  CHECK(Has(reports[0].detail, "this device's own buffer changed"));
  CHECK(reports[1].code != OutcomeCode::kFaulty);
  CHECK(reports[1].code != OutcomeCode::kTimeout);
  if (reports[1].code == OutcomeCode::kNotRun) {  // otherwise it ended before the bit changed
    CHECK(Has(reports[1].detail, "the peer's own buffer holds wrong data"));
  }
}

TEST_CASE("a p2p test that cannot open a peer's buffer names the peer and the reason") {
  const auto host = MakeDriver(HostOptions(""));
  const std::vector<GroupMember> members = {{100, 0}, {101, 1}};
  Silent silent;
  for (const std::string token :
       {"", "host-buffer", "host-buffer 1 2", "host-buffer 1 2 3 4", "host-buffer 0 0 0",
        "host-buffer 99999999999 1 1", "host-buffer 4194305 3 7", "/etc/passwd"}) {
    INFO(token);
    const auto device = *host->Open(0);
    Result<std::string> own = device->PrepareP2p({members, 0});
    REQUIRE(own.ok());
    const OpReport report = device->RunP2p({members, 0}, {*own, token}, &silent);
    CHECK(report.code == OutcomeCode::kNotRun);
    CHECK(Has(report.detail, "cannot use the buffer of rank 101 (device 1): "));
  }
  // A descriptor that is open but not a buffer; then the buffer of another member of the group.
  const auto device = *host->Open(0);
  Result<std::string> own = device->PrepareP2p({members, 0});
  REQUIRE(own.ok());
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const std::string other =
      "host-buffer " + std::to_string(getpid()) + ' ' + std::to_string(ends[0]) + " 7";
  CHECK(SharedBuffer::OpenPeer(other, 2, 1, 0).status().code() == Code::kUnavailable);
  CHECK(SharedBuffer::OpenPeer(*own, 2, 1, 0).status().code() == Code::kUnavailable);
  CHECK(SharedBuffer::OpenPeer(*own, 3, 0, 1).status().code() == Code::kUnavailable);
  CHECK(SharedBuffer::OpenPeer(*own, 2, 0, 1).ok());
  close(ends[0]);
  close(ends[1]);
}

TEST_CASE("a device retains its buffer until the last peer has opened it") {
  Options options = HostOptions("");
  options.Set("host-seconds", 1);
  const auto host = MakeDriver(options);
  const std::vector<GroupMember> members = {{100, 0}, {101, 1}};
  Nobody nobody;
  const auto early = *host->Open(0);
  const auto late = *host->Open(1);
  const std::vector<std::string> blobs = {*early->PrepareP2p({members, 0}),
                                          *late->PrepareP2p({members, 1})};
  OpReport report;
  std::thread first([&] { report = early->RunP2p({members, 0}, blobs, &nobody); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // enough for it to finish
  CHECK(late->RunP2p({members, 1}, blobs, &nobody).code == OutcomeCode::kOk);
  first.join();
  CHECK(report.code == OutcomeCode::kOk);
}

TEST_CASE("a p2p test does not wait for a peer whose process has exited") {
  Result<SharedBuffer> own = SharedBuffer::Create(3, 0);
  REQUIRE(own.ok());
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(0);
  REQUIRE(waitpid(child, nullptr, 0) == child);
  const std::string gone = "host-buffer " + std::to_string(child) + " 3 7";
  const std::string alive = "host-buffer " + std::to_string(getpid()) + " 3 7";
  CHECK(own->OpenedOrGone({own->token(), gone, gone}));
  CHECK_FALSE(own->OpenedOrGone({own->token(), gone, alive}));
  CHECK(SharedBuffer::OpenPeer(own->token(), 3, 0, 2).ok());
  CHECK(own->OpenedOrGone({own->token(), gone, alive}));
}

TEST_CASE("a p2p group of one device is refused") {
  const auto host = MakeDriver(HostOptions(""));
  CHECK_FALSE((*host->Open(0))->PrepareP2p({{{7, 0}}, 0}).ok());
}

TEST_CASE("the host driver lists at least two devices and describes them") {
  Options options;
  options.kind = "auto";
  const auto host = MakeDriver(options);
  CHECK(host->name() == "host");
  const Result<std::vector<ListedDevice>> devices = host->Inventory();
  REQUIRE(devices.ok());
  CHECK(devices->size() >= 2);
  CHECK(devices->size() <= 8);
  CHECK((*devices)[1].device == 1);
  CHECK((*devices)[1].kind == "cpu");
  CHECK(Has((*devices)[1].detail, FindKernel("")->level));
  CHECK_FALSE(host->Open(64).ok());
  CHECK_FALSE(host->Open(-1).ok());
  CHECK_FALSE(host->MakeSafe(0).changed);
}

TEST_CASE("ParseFault refuses an invalid fault") {
  CHECK(ParseFault("").ok());
  CHECK(ParseFault("1:p2p=source@3").ok());
  for (const char* text : {"1", "1:aic", "1:aic=flip", "1:aic=source@1", "1:p2p=answer@1",
                           "x:aic=flip@1", "1:aic=flip@", "1:aic=flip@-1", "1@2=3:4"}) {
    INFO(text);
    CHECK_FALSE(ParseFault(text).ok());
  }
}

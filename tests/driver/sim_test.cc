#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "driver/sim/sim_driver.h"
#include "driver/sim/sim_plan.h"

using namespace assay;
using namespace assay::base;
using namespace assay::core;
using namespace assay::driver;
using namespace assay::driver::sim;

namespace {

class Recorder : public driver::Progress {
 public:
  void Report(std::int32_t percent, std::string_view) override { percents.push_back(percent); }
  std::vector<std::int32_t> percents;
};

std::unique_ptr<Driver> MakeQuick(const std::string& plan) {
  Options options;
  options.kind = "sim";
  options.Set("sim-op-ms", 0);
  options.Set("sim", plan);
  Result<std::unique_ptr<Driver>> made = Make(options);
  REQUIRE(made.ok());
  return *std::move(made);
}

OpReport RunAicOn(Driver* sim, std::int32_t device) {
  Recorder recorder;
  Result<std::unique_ptr<Device>> opened = sim->Open(device);
  REQUIRE(opened.ok());
  return (*opened)->RunAic(&recorder);
}

std::string PlanError(const std::string& plan) {
  const Result<SimPlan> parsed = SimPlan::Parse(plan, 8);
  return parsed.ok() ? "" : parsed.status().text();
}

}  // namespace

TEST_CASE("the sim driver ends each op as planned") {
  const auto sim = MakeQuick("3:aic=faulty,2:aic=not_run,7:aic=voltage,1:aic=slow,4:aic=fail");
  CHECK(RunAicOn(sim.get(), 0).code == OutcomeCode::kOk);
  CHECK(RunAicOn(sim.get(), 1).code == OutcomeCode::kOk);
  CHECK(RunAicOn(sim.get(), 2).code == OutcomeCode::kNotRun);
  CHECK(RunAicOn(sim.get(), 3).code == OutcomeCode::kFaulty);
  CHECK(RunAicOn(sim.get(), 4).code == OutcomeCode::kNotRun);
  CHECK(RunAicOn(sim.get(), 7).code == OutcomeCode::kVoltageNotRestored);
  CHECK(RunAicOn(sim.get(), 3).detail == "sim: aic found a fault by plan");
}

TEST_CASE("the sim driver lists its devices and opens only those") {
  const auto sim = MakeQuick("5:open=fail");
  REQUIRE(sim->Inventory().ok());
  CHECK(sim->Inventory()->size() == 8);
  CHECK(sim->Open(8).status().text() == "there is no device 8; --sim-devices=8 has 0 to 7");
  CHECK_FALSE(sim->Open(-1).ok());
  CHECK_FALSE(sim->Open(5).ok());
}

TEST_CASE("MakeSafe reports a changed voltage if the plan leaves it changed") {
  const auto sim = MakeQuick(
      "7:aic=voltage,5:aic=hang_voltage,6:p2p=crash_voltage,4:aic=hang,"
      "3:safe=fail");
  for (std::int32_t device : {0, 4}) CHECK_FALSE(sim->MakeSafe(device).changed);
  for (std::int32_t device : {3, 5, 6, 7}) CHECK(sim->MakeSafe(device).changed);
}

TEST_CASE("a sim p2p test checks its peers' blobs, and a planned fault affects one rank") {
  const auto sim = MakeQuick("1:p2p=faulty,2:prepare=fail");
  std::vector<GroupMember> members = {{10, 0}, {11, 1}};
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<std::string> blobs;
  for (std::int32_t i = 0; i < 2; ++i) {
    devices.push_back(*sim->Open(i));
    Result<std::string> blob = devices.back()->PrepareP2p({members, i});
    REQUIRE(blob.ok());
    blobs.push_back(*blob);
  }
  Recorder recorder;
  CHECK(devices[0]->RunP2p({members, 0}, blobs, &recorder).code == OutcomeCode::kOk);
  CHECK(recorder.percents == std::vector<std::int32_t>{0, 25, 50, 75});
  CHECK(devices[1]->RunP2p({members, 1}, blobs, &recorder).code == OutcomeCode::kFaulty);
  std::swap(blobs[0], blobs[1]);
  const OpReport mixed = devices[0]->RunP2p({members, 0}, blobs, &recorder);
  CHECK(mixed.code == OutcomeCode::kNotRun);
  CHECK(mixed.detail == "sim: rank 10 supplied no connection data, or wrong data");
  CHECK_FALSE((*sim->Open(2))->PrepareP2p({members, 0}).ok());
}

TEST_CASE("the error for a wrong plan names the entry and the allowed values") {
  CHECK(PlanError("3:aic=faulty,5:p2p=hang,6:aic=crash,7:aic=voltage,2:p2p=not_run").empty());
  CHECK(PlanError("").empty());
  CHECK(PlanError("0:aic") ==
        "--sim: entry '0:aic': expected DEVICE:CALL=OUTCOME, such as 3:aic=faulty");
  CHECK(PlanError("8:aic=ok") ==
        "--sim: entry '8:aic=ok': there is no device '8'; --sim-devices=8 has 0 to 7");
  CHECK(PlanError("-1:aic=ok") ==
        "--sim: entry '-1:aic=ok': there is no device '-1'; --sim-devices=8 has 0 to 7");
  CHECK(PlanError("1:aci=ok") ==
        "--sim: entry '1:aci=ok': unknown call 'aci'; calls are open, aic, prepare, p2p, safe");
  CHECK(
      PlanError("0:aic=ok,1:aic=broken") ==
      "--sim: entry '1:aic=broken': 'broken' is not an outcome of aic; allowed are ok, "
      "not_run, faulty, voltage, slow, spew, fail, hang, hang_voltage, crash, crash_voltage, exit, "
      "garbage");
  CHECK(PlanError("1:open=faulty") ==
        "--sim: entry '1:open=faulty': 'faulty' is not an outcome of open; allowed are fail, "
        "hang, hang_voltage, crash, crash_voltage, exit, garbage");
  CHECK(PlanError("1:aic=ok,1:aic=hang") ==
        "--sim: entry '1:aic=hang': this device and call already have an entry");
  CHECK(PlanError("1:aic=ok,") == "--sim: entry '': no entry after the last comma");
  CHECK(PlanError(",1:aic=ok") ==
        "--sim: entry '': expected DEVICE:CALL=OUTCOME, such as 3:aic=faulty");
  CHECK(PlanError(std::string(10000, 'x')).size() < 300);
}

TEST_CASE("the error for an invalid driver option names the option") {
  const auto error = [](const Options& options) { return Make(options).status().text(); };
  Options options;
  options.kind = "sims";
  CHECK(error(options) == "--driver=sims: known drivers are auto, host and sim");
  options = {};
  options.Set("sim-devices", 0);
  CHECK(error(options) == "--sim-devices=0: allowed values are 1 to 64");
  options = {};
  options.Set("sim-op-ms", -1);
  CHECK(error(options) == "--sim-op-ms=-1: allowed values are 0 to 86400000");
  options = {};
  options.Set("host-devices", 65);
  CHECK(error(options) == "--host-devices=65: allowed values are 0 to 64");
  options = {};
  options.Set("host-seconds", 0);
  CHECK(error(options) == "--host-seconds=0: allowed values are 0.001 to 3600");
  options.Set("host-seconds", 4'294'968'020);
  CHECK(error(options) == "--host-seconds=4294968.02: allowed values are 0.001 to 3600");
  options.Set("host-seconds", "soon");
  CHECK(error(options) == "--host-seconds=soon: allowed values are 0.001 to 3600");
  options = {};
  options.Set("sim-device", 8);
  CHECK(error(options) == "no driver has an option \"sim-device\"");
}

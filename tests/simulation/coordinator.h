// The simulated coordinator process: the Turn that ships, with its tables and fan-out queues, run
// in the simulation's one thread and on its clock. Here are only what stands around them: the disk,
// the calls, and the moments at which a turn runs.
//
// The process may die at any point: with the batch half stepped, before its commit, after it, or in
// the middle of releasing. A commit may fail before or after it has reached the disk, and the disk
// may then stay broken for a while. The process may also be stopped in an orderly way.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "control/fanout.h"
#include "control/intake.h"
#include "control/turn.h"
#include "store/storage.h"
#include "tests/simulation/checker.h"
#include "tests/simulation/disk.h"
#include "tests/simulation/messages.h"
#include "tests/simulation/world.h"

namespace assay::simulation {

class Coordinator final : control::TurnObserver, store::Storage {
 public:
  // REQUIRES: `world` and `checker` outlive it.
  Coordinator(World* world, Checker* checker);
  ~Coordinator() override;

  std::function<void(const core::Effect&)> released;  // an effect leaves the process
  std::function<void(const core::Answer&)> answered;  // a call has its answer
  std::function<void(core::CallId)> failed;           // a call has failed
  std::function<void(const core::Durable&)> stepped;  // the state after an event, not yet committed
  std::function<void()> committed;                    // every step so far is committed
  std::function<void()> outage;  // what was stepped and not committed is discarded
  std::function<void(const core::Durable&)> loaded;  // the state loaded from the store replaces it
  std::function<void()> died;     // no stream, link or call has its process any more
  std::function<void()> stopped;  // an orderly stop is over; died() follows

  void Start();
  void Stop();
  void Die();

  // Posts the event of a unary call; dropped while the process is down.
  void Call(core::Event event);
  // Posts something else; dropped while the process is down.
  void Post(const std::function<void(control::Intake*)>& what);
  void StreamHasRoom(core::StreamId stream);

  bool up() const { return process_ != nullptr; }
  bool accepts() const { return up() && !stopping_; }  // new calls, streams and links
  const Disk& disk() const { return disk_; }
  std::size_t waiting() const { return calls_.size(); }  // calls

 private:
  struct Process;
  class PendingCall;
  struct Death {};

  // --- TurnObserver ---
  void Loaded(const core::cluster::Cluster& cluster) override;
  void BeforeStep(const core::Event& event, const core::cluster::Cluster& cluster) override;
  void AfterStep(const core::Event& event, const core::Output& batch, std::size_t record,
                 std::size_t effect, const core::cluster::Cluster& cluster) override;
  void BeforeRelease(const core::Effect& effect) override;

  // --- Storage ---
  base::Status Commit(const std::vector<core::Record>& records) override;
  base::Result<core::Durable> Load() override;
  void Idle() override {}

  void OnServing(bool serving);
  void MayDie(int permille) const;
  void WorkLater(core::Ms delay);
  void WakeLater();
  void Work();

  World& world_;
  Checker& checker_;
  Disk disk_;
  std::unique_ptr<Process> process_;
  std::map<core::CallId, std::unique_ptr<PendingCall>> calls_;
  const core::cluster::Cluster* cluster_ = nullptr;  // null in an outage
  std::vector<core::Effect> waiting_;                // effects of steps that are not committed
  core::Ms broken_until_ = 0;                        // the disk
  bool work_due_ = false;
  std::optional<core::Ms> wake_at_;
  bool stopping_ = false;
  int life_ = 0;  // how often the process was started
};

}  // namespace assay::simulation

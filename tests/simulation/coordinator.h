// The simulated coordinator process: mailbox, batches, the real Cluster, its store, and the release
// of effects.
//
// The process may die at any point: with the batch half stepped, before its commit, after it, or in
// the middle of releasing. A failed commit, which may or may not have reached the disk, releases
// nothing; the cluster is then created again from the store, and every stream and link ends.
#pragma once

#include <deque>
#include <functional>
#include <optional>

#include "core/cluster/cluster.h"
#include "tests/simulation/checker.h"
#include "tests/simulation/disk.h"
#include "tests/simulation/world.h"

namespace assay::simulation {

class Coordinator {
 public:
  // REQUIRES: `world` and `checker` outlive it.
  Coordinator(World* world, Checker* checker) : world_(*world), checker_(*checker) {}

  std::function<void(const core::Effect&)> release;   // an effect leaves the process
  std::function<void(const core::Durable&)> stepped;  // the state after an event, not yet committed
  std::function<void()> committed;                    // every step so far is committed
  std::function<void(const core::Durable&)> loaded;   // the state loaded from the store replaces it
  // All streams, links and calls end; up() tells whether the process continues.
  std::function<void()> cut_all;

  void Start();
  void Die();
  void Post(core::Event event);  // dropped while the process is down
  bool up() const { return cluster_.has_value(); }
  int life() const { return life_; }  // how often the process was started
  const Disk& disk() const { return disk_; }
  std::size_t waiting() const { return mailbox_.size(); }

 private:
  void Load();
  bool IsOfBefore(const core::Event& event) const;
  void WorkLater(core::Ms delay);
  void Work();
  bool Commit(const std::vector<core::Record>& records);
  void TickLater();
  void Tick();

  World& world_;
  Checker& checker_;
  Disk disk_;
  std::optional<core::cluster::Cluster> cluster_;
  std::deque<core::Event> mailbox_;
  bool work_due_ = false;
  std::optional<core::Ms> tick_at_;
  std::uint64_t first_id_ = 0;  // streams and links with smaller ids ended with a failed commit
  int life_ = 0;
};

}  // namespace assay::simulation

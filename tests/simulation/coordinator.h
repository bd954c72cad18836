// The coordinator's process: mailbox, batches, the real Cluster, its store, and what leaves it.
//
// It dies at any point: with the batch half stepped, before its commit, after it, in the middle of
// releasing. A commit that fails (stored or not: nobody knows) releases nothing; the cluster is
// then made anew from the store, and every stream and link ends.
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
  // REQUIRES: they outlive it.
  Coordinator(World* world, Checker* checker) : world_(*world), checker_(*checker) {}

  std::function<void(const Effect&)> release;   // an effect leaves the process
  std::function<void(const Durable&)> stepped;  // by an event
  std::function<void()> committed;              // all that was stepped
  std::function<void(const Durable&)> loaded;   // in place of what was stepped
  std::function<void()> cut_all;  // all streams, links and calls end; the process may live on

  void Start();
  void Die();
  void Post(Event event);  // into the void while it is down
  bool up() const { return cluster_.has_value(); }
  int life() const { return life_; }  // a number for each time it was started
  const Disk& disk() const { return disk_; }
  std::size_t waiting() const { return mailbox_.size(); }

 private:
  void Load();
  bool IsOfBefore(const Event& event) const;
  void WorkLater(Ms delay);
  void Work();
  bool Commit(const std::vector<Record>& records);
  void TickLater();
  void Tick();

  World& world_;
  Checker& checker_;
  Disk disk_;
  std::optional<Cluster> cluster_;
  std::deque<Event> mailbox_;
  bool work_due_ = false;
  std::optional<Ms> tick_at_;
  std::uint64_t first_id_ = 0;  // streams and links before it were ended by a failed commit
  int life_ = 0;
};

}  // namespace assay::simulation

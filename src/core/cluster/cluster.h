// The coordinator's state (jobs, runs, fleet) as one pure state machine.
//
//   Output out;
//   cluster.Step(event, now, &out);      // for each event of a batch
//   store.Commit(out.records);           // then, and only then:
//   release(out.effects);
//
// No threads, clock, randomness or I/O: each step gets the time, so everything can run in a
// simulation. Step() is total: it accepts every event in every state and never fails.
//
// If a commit fails, destroy the object, load the Durable again and make a new Cluster. The caller
// must end and release all streams and links that were opened until then. None of their events may
// reach the new object, including those still in the queue: if the close of a stream was in the
// lost batch and its opening is still queued, the new object would keep that stream open forever.
//
// Thread safety: none; one thread owns it.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "core/effect.h"
#include "core/event.h"
#include "core/model.h"
#include "core/settings.h"

namespace assay::core::cluster {

class Cluster {
 public:
  Cluster(const Settings& settings, Durable durable, Ms now);
  ~Cluster();
  Cluster(Cluster&&) noexcept;
  Cluster& operator=(Cluster&&) noexcept;

  void Step(const Event& event, Ms now, Output* out);

  // The earliest time at which Ticked would have an effect; at most now + 1 h.
  Ms NextDeadline(Ms now) const;

  // The stored state, for tests and checks: Cluster(s, Load()) is equivalent to this object.
  const Durable& durable() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::core::cluster

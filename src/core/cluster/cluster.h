// The coordinator's truth: jobs, runs, fleet, in one pure state machine.
//
//   Output out;
//   cluster.Step(event, now, &out);      // for each event of a batch
//   store.Commit(out.records);           // then, and only then:
//   release(out.effects);
//
// No threads, clock, randomness or I/O: time comes in with each step, so everything runs in a
// simulation. Step is total: every event has a defined answer in every state, and never fails.
//
// When a commit fails, throw the object away, load the Durable again and make a new one. The shell
// ends all streams and links that were opened until then and lets go of them itself; none of their
// events may reach the new object, not even those that wait in the queue: the close of a stream may
// have been in the lost batch and its opening be still to come. It would be listened to for ever.
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

namespace assay {

class Cluster {
 public:
  Cluster(const Settings& settings, Durable durable, Ms now);
  ~Cluster();
  Cluster(Cluster&&) noexcept;
  Cluster& operator=(Cluster&&) noexcept;

  void Step(const Event& event, Ms now, Output* out);

  // The earliest time at which Ticked would do something; now + 1 h when there is none.
  Ms NextDeadline(Ms now) const;

  // What is stored, for tests and checks: Cluster(s, Load()) and this are alike.
  const Durable& durable() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay

// The coordinator's truth: jobs, runs, fleet, in one pure state machine.
//
//   Output out;
//   cluster.Step(event, now, &out);      // for each event of a batch
//   store.Commit(out.records);           // then, and only then:
//   release(out.effects);
//
// No threads, clock, randomness or I/O: time comes in with each step, so everything runs in a
// simulation. Step is total: every event has a defined answer in every state, and never fails. When
// a commit fails, throw the object away, load the Durable again and make a new one: streams and
// links are then unknown to it (the shell has ended them).
//
// Thread safety: none; one thread owns it.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "core/effect.h"
#include "core/event.h"
#include "core/model.h"

namespace assay {

struct Settings {
  Ms aic_deadline = 300'000;
  Ms p2p_deadline = 600'000;
  Ms start_allowance = 60'000;  // how long somebody who is away is waited for
  Ms kill_grace = 30'000;       // from a deadline to the kill
  Ms agent_timeout = 30'000;    // a silent agent's name is kept for it this long
  Ms heartbeat = 5'000;         // agents say something this often
  Ms reply_quiet =
      12'000;  // from a job's last reply to the next notification (TaskD repeats replies for 10 s)
  Ms owing = 1'200'000;           // how long an unanswered subscriber-run blocks the next
  Ms reply_allowance = 60'000;    // added to the op deadlines of a subscriber's whole reply
  Ms result_replay = 86'400'000;  // how old a result a late subscriber still gets
};

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

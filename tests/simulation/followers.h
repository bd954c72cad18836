// The simulated subscribers of job signals: clients that register, subscribe, read slowly or not at
// all for a while, disconnect and reconnect. They also change jobs of their own, because the other
// clients cause few signals. They read what the board's fan-out sends them.
//
// The signals that each follower saw are checked against the true history, which is taken from the
// stored states, not from the published signals. For every job a follower sees a subsequence of the
// states in their order; only the last one may be repeated, after a reconnect. In the end the
// follower has seen the last state, or the delete if that was still retained when it subscribed.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/effect.h"
#include "tests/simulation/disk.h"
#include "tests/simulation/streams.h"
#include "tests/simulation/world.h"

namespace assay::simulation {

class Followers final : StreamUser {
 public:
  // REQUIRES: both outlive it.
  Followers(World* world, Streams* streams);

  std::function<bool()> reachable;        // the coordinator is up
  std::function<void(core::Event)> call;  // a unary call to the coordinator

  void Start();
  void Heal();  // from now on followers do not change jobs, pause or disconnect

  // --- The true history
  void Stepped(const core::Durable& durable);  // a state that is true once it is committed
  void Committed();                            // all stepped states are committed
  void Loaded(
      const core::Durable& durable);  // the stored state, at a start or after a failed commit

  // Discards what was stepped and not committed.
  void Outage();

  // --- What comes from the coordinator. Answered: false if the call is not a follower's.
  bool Answered(const core::Answer& answer);
  void Failed(core::CallId call);
  bool Owns(core::StreamId stream) const { return opened_.contains(stream); }
  void HearForgotten(const core::ForgetDeleted& forgotten);
  void CoordinatorDied();  // ends every stream

  // Why a follower is not up to date; "" if all are.
  std::string Pending();
  // Checks that every follower has the last state of every job. REQUIRES: Pending() is "".
  void CheckAll();

 private:
  // A state of a job as a follower can see it.
  struct State {
    bool deleted = false;
    core::JobState state = core::JobState::kPending;
    core::Ms created = 0;
    core::Ms ended = 0;
    std::string hccl;
    bool operator==(const State&) const = default;
  };
  using Truth = std::map<std::string, std::array<std::optional<State>, 2>>;  // job -> [deleted]
  using Moment = std::pair<std::string, State>;                              // job, its new state

  struct Seen {
    std::size_t at = 0;  // index in the job's history
    bool again = false;  // that state may be repeated once: the follower has reconnected
  };
  struct Follower {
    std::string role;
    std::string client;     // "" if not registered
    core::CallId call = 0;  // of the Register call under way; 0 if none is
    std::optional<core::StreamId> stream;
    core::Topic topic = core::Topic::kSignal;
    core::Ms opened_at = 0;
    bool attached = false;
    core::Ms attached_at = 0;
    std::optional<core::Ms> caught_up;  // when it first had read everything after attached_at
    std::deque<std::vector<core::SignalPtr>> unread;  // messages
    core::Ms paused_until = 0;
    std::map<std::string, Seen> seen;
  };

  static State StateOf(const core::Signal& signal);
  static State StateOf(const core::Job& job);
  static State StateOf(const core::DeletedJob& job);
  static void Differences(const core::Durable& durable, Truth* truth, std::vector<Moment>* moments);
  void Append(const std::vector<Moment>& moments);
  void NoteForgotten(const core::Durable& durable);

  void Change();
  void Act(std::size_t index);
  void Connect(Follower* follower);
  void Read(Follower* follower);
  void See(Follower* follower, const core::Signal& signal);
  void SeeNext(Follower* follower);
  void Lose(Follower* follower);
  Follower* Of(core::StreamId stream);

  void Announced(core::StreamId stream) override;
  bool HasRoom(core::StreamId stream) override;
  void Received(core::StreamId stream, const Message& message) override;
  void Ended(core::StreamId stream, const base::Status& status) override;

  World& world_;
  Streams& streams_;
  std::vector<Follower> followers_;
  std::set<core::StreamId> opened_;                    // every stream that a follower opened
  std::map<std::string, std::vector<State>> history_;  // of each job
  std::map<std::string, core::Ms> gone_;  // deleted job -> since when its delete need not be sent
  Truth true_;                            // committed
  Truth stepped_;                         // stepped, perhaps not committed
  std::vector<Moment> not_yet_;           // from true_ to stepped_
};

}  // namespace assay::simulation

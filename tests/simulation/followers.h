// Everybody who subscribes to job signals: clients that register, follow, read slowly or not at
// all for a while, go away and come back; and that change jobs of their own, since there is not
// much to see otherwise. With the shell's part of it: the board, and who was given what.
//
// What each of them saw is held against what truly happened, which is taken from what was stored,
// not from what was signalled: of every job a subsequence of its states in their order, where only
// the last one may be repeated, after a reconnect; and at the end the last one, or the delete, if
// it was still known when the follower came.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "control/job_board.h"
#include "core/effect.h"
#include "tests/simulation/disk.h"
#include "tests/simulation/world.h"

namespace assay::simulation {

class Followers {
 public:
  explicit Followers(World* world);

  std::function<bool()> reachable;  // the coordinator is up
  std::function<void(Event)> post;  // to the coordinator

  void Start();
  void Heal();  // nobody changes jobs, pauses or goes away any more

  // --- The truth
  void Stepped(const Durable& durable);  // may come true
  void Committed();                      // has
  void Loaded(const Durable& durable);   // whatever has, until a start or after a failed commit

  // --- What leaves the coordinator. False: it is not for them.
  bool Hear(const Effect& effect);
  void CutAll();  // every stream has ended; the shell begins anew

  // Who does not know yet what is true; "": nobody.
  std::string Pending();
  // At the very end, when nothing is pending.
  void CheckAll();

 private:
  // A state of a job as a follower can see it.
  struct State {
    bool deleted = false;
    JobState state = JobState::kPending;
    Ms created = 0;
    Ms ended = 0;
    std::string hccl;
    bool operator==(const State&) const = default;
  };
  using Truth = std::map<std::string, std::array<std::optional<State>, 2>>;  // [deleted]
  using Moment = std::pair<std::string, State>;                              // of a job

  struct Seen {
    std::size_t at = 0;  // in the job's history
    bool again = false;  // the same may come once more: it has connected anew
  };
  struct Follower {
    std::string role;
    std::string client;  // "": not registered
    CallId call = 0;     // its Register that is under way
    std::optional<StreamId> stream;
    Topic topic = Topic::kSignal;
    Ms opened_at = 0;
    bool attached = false;
    std::uint64_t attached_change = 0;
    Ms attached_at = 0;
    std::optional<Ms> caught_up;  // when it had read everything for the first time since then
    std::uint64_t cursor = 0;
    JobBoard::SnapshotPtr pages;  // of a list, until all is read
    std::size_t page_at = 0;
    Ms paused_until = 0;
    std::map<std::string, Seen> seen;
  };

  static State StateOf(const Signal& signal);
  static State StateOf(const Job& job);
  static State StateOf(const DeletedJob& job);
  static void Differences(const Durable& durable, Truth* truth, std::vector<Moment>* moments);
  void Append(const std::vector<Moment>& moments);
  void NoteForgotten(const Durable& durable);

  void Change();
  void Act(std::size_t index);
  void Connect(Follower* follower);
  void Read(Follower* follower);
  void See(Follower* follower, const Signal& signal);
  void Lose(Follower* follower);
  Follower* Of(StreamId stream);

  bool HearAnswer(const Answer& answer);
  bool HearEnd(const EndStream& end);
  void HearSignal(const PublishSignal& published);
  void HearForgotten(const ForgetDeleted& forgotten);

  World& world_;
  std::vector<Follower> followers_;
  std::set<StreamId> streams_;  // that they ever opened
  JobBoard board_;
  std::map<std::string, std::vector<State>> history_;  // of each job
  std::map<std::string, Ms> gone_;  // since when nobody need be told of a job that was deleted
  Truth true_;
  Truth stepped_;
  std::vector<Moment> not_yet_;
};

}  // namespace assay::simulation

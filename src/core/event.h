// Everything that can happen to the coordinator, as data. gRPC services translate wire messages
// into these and post them; the control loop steps them through cluster.h.
//
// CallId, StreamId and LinkId are made by the shell: a unary call that waits for an answer, a
// server stream, an agent's stream. They mean nothing here but themselves, and that of two links
// the one that was opened later has the higher number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/fleet_message.h"
#include "core/model.h"

namespace assay {

using CallId = std::uint64_t;
using StreamId = std::uint64_t;
using LinkId = std::uint64_t;

// Who calls, for the certificates that come later: today everybody is a local operator.
struct Caller {
  std::string who;   // the peer's address, for events and log
  std::string role;  // as it says itself; not trusted
};

enum class ExecutorDemand : std::uint8_t { kAuto, kSubscriber, kAgent };

// Recover/StressTest and admin StartRun.
struct StressRequested {
  CallId call = 0;
  Caller caller;
  std::string job;
  std::map<std::string, std::vector<std::int64_t>>
      node_ops;                       // rank table's node -> ops, as the wire has them
  std::vector<std::int64_t> all_ops;  // when not empty: these on every node, node_ops is ignored
  ExecutorDemand demand = ExecutorDemand::kAuto;
  bool check = false;  // say the plan, run nothing
};

// Recover/ReplyStressTestResult: as it came, not yet judged.
struct ReplyItem {
  std::string rank;
  std::string op;
  std::string code;
  std::string text;
};
struct Replied {
  CallId call = 0;
  Caller caller;
  std::string job;
  std::vector<ReplyItem> items;
};

// A stream that hears of one job: kNotify = SubscribeNotifyExecStressTest, kResult =
// SubscribeStressTestResponse; or of the states of all jobs: kSignal = SubscribeJobSummarySignal,
// kSignalList = SubscribeJobSummarySignalList.
enum class Topic : std::uint8_t { kNotify, kResult, kSignal, kSignalList };
inline constexpr std::size_t kTopics = 4;
inline bool IsSignal(Topic topic) { return topic == Topic::kSignal || topic == Topic::kSignalList; }
struct StreamOpened {
  StreamId stream = 0;
  Topic topic = Topic::kNotify;
  Caller caller;
  std::string job;     // kNotify, kResult
  std::string client;  // kSignal, kSignalList: the id that Register gave
  std::string role;    // kSignal, kSignalList: as the client says it, to be compared
};
// Comes once for every stream, whoever ended it; it may overtake its StreamOpened.
struct StreamClosed {
  StreamId stream = 0;
};

// Of agents' streams. The first message of a link is a Hello, or the link is ended.
struct LinkSaid {
  LinkId link = 0;
  AgentMessage message;
};
// Comes once for every link, whoever ended it; it may overtake what the link said.
struct LinkClosed {
  LinkId link = 0;
};

struct JobApplied {
  CallId call = 0;
  Caller caller;
  JobSpec spec;
  std::optional<JobState>
      state;               // none: keep; a new job is pending or running by its table's readiness
  std::string table_text;  // "" : not ready
  std::shared_ptr<const RankTable> table;   // read by the shell; never null
  std::shared_ptr<const std::string> hccl;  // HcclJson of the table, made by the shell; never null
  std::string file;  // from the jobs directory: Fingerprint() of the file's content; else ""
};
struct JobStateSet {
  CallId call = 0;
  Caller caller;
  std::string job;
  JobState state = JobState::kPending;
};
struct JobDeleted {
  CallId call = 0;
  Caller caller;
  std::string job;
};
// job.Job/Register.
struct ClientRegistered {
  CallId call = 0;
  Caller caller;
  std::string role;    // as it came, to be compared
  std::string client;  // the id it gets when it is accepted: an RFC 4122 text, made by the shell
};
// The jobs directory has no file of that job any more.
struct JobFileGone {
  CallId call = 0;
  Caller caller;
  std::string job;
};
// Of these jobs it has files, of no others: said once when it was first looked at.
struct JobFilesListed {
  CallId call = 0;
  Caller caller;
  std::vector<std::string> jobs;  // ascending
};
struct RunCancelled {
  CallId call = 0;
  Caller caller;
  RunId run = kNoRun;
};
struct NodeForgotten {
  CallId call = 0;
  Caller caller;
  std::string node;
};
// Time has passed; sent at NextDeadline() and at least once a second.
struct Ticked {};

using Event = std::variant<StressRequested, Replied, StreamOpened, StreamClosed, LinkSaid,
                           LinkClosed, JobApplied, JobStateSet, JobDeleted, JobFileGone,
                           JobFilesListed, ClientRegistered, RunCancelled, NodeForgotten, Ticked>;

}  // namespace assay

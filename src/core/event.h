// Every input of the coordinator's core, as data. The gRPC services translate wire messages into
// events and post them; the control loop passes them to Cluster::Step() (cluster.h).
//
// The caller assigns CallId, StreamId and LinkId: a unary call that waits for an answer, a server
// stream, an agent's stream. The core uses them only as keys, and relies on this: of two links, or
// two streams, the one that was opened later has the higher id.
//
// Thread safety: values.
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

namespace assay::core {

using CallId = std::uint64_t;
using StreamId = std::uint64_t;
using LinkId = std::uint64_t;

// How a caller's bytes reach the coordinator.
enum class Transport : std::uint8_t {
  kInProcess,  // a part of this program
  kLoopback,   // another process of this machine
  kInsecure,   // another machine; neither encrypted nor authenticated
};

// The origin of an event: the client of a call, stream or link. It is not authenticated: every
// caller has the rights of a local operator.
struct Caller {
  std::string who;   // the peer's address, for events and log
  std::string role;  // as the client states it; not trusted; "" if the call has none
  Transport transport = Transport::kInProcess;
};

enum class ExecutorDemand : std::uint8_t { kAuto, kSubscriber, kAgent };

// Recover/StressTest and admin StartRun.
struct StressRequested {
  CallId call = 0;
  Caller caller;
  std::string job;
  // The rank table's node -> ops, with the values of the wire.
  std::map<std::string, std::vector<std::int64_t>> node_ops;
  std::vector<std::int64_t> all_ops;  // if not empty: the ops of every node; node_ops is ignored
  ExecutorDemand demand = ExecutorDemand::kAuto;
  bool check = false;  // only answer with the plan; start no run
};

// Recover/ReplyStressTestResult: as received, not yet validated.
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

// The topic of a subscription. One job: kNotify = SubscribeNotifyExecStressTest, kResult =
// SubscribeStressTestResponse. The states of all jobs: kSignal = SubscribeJobSummarySignal,
// kSignalList = SubscribeJobSummarySignalList.
enum class Topic : std::uint8_t { kNotify, kResult, kSignal, kSignalList };
inline constexpr std::size_t kTopics = 4;
inline bool IsSignal(Topic topic) { return topic == Topic::kSignal || topic == Topic::kSignalList; }
struct StreamOpened {
  StreamId stream = 0;
  Topic topic = Topic::kNotify;
  Caller caller;
  std::string job;     // kNotify, kResult
  std::string client;  // kSignal, kSignalList: the id that Register returned
  std::string role;    // kSignal, kSignalList: as the client states it; compared with Register's
};
// Once for every StreamOpened and after it, no matter which side ended the stream.
struct StreamClosed {
  StreamId stream = 0;
};

// A message on an agent's stream. If the first message of a link is not Hello, the core ends the
// link.
struct LinkMessage {
  LinkId link = 0;
  AgentMessage message;
  Caller caller = {};  // of the link
};
// Once for every link that sent a message, no matter which side ended it; no message of the link
// follows.
struct LinkClosed {
  LinkId link = 0;
};

struct JobApplied {
  CallId call = 0;
  Caller caller;
  JobSpec spec;
  // No value: the job keeps its state, but a new or pending job becomes running if its table is
  // ready; a new job without a ready table is pending.
  std::optional<JobState> state;
  std::string table_text;                              // "" if the table is not ready
  std::shared_ptr<const rank_table::RankTable> table;  // parsed by the caller; never null
  std::shared_ptr<const std::string> hccl;  // HcclJson() of the table, from the caller; never null
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
  std::string role;    // as received; compared with Settings::job_roles
  std::string client;  // the id for the client if it is accepted: a UUID, from the caller
};
// The jobs directory no longer has a file for the job.
struct JobFileGone {
  CallId call = 0;
  Caller caller;
  std::string job;
};
// The complete list of jobs that have a file in the jobs directory; posted once, after the first
// scan.
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

using Event = std::variant<StressRequested, Replied, StreamOpened, StreamClosed, LinkMessage,
                           LinkClosed, JobApplied, JobStateSet, JobDeleted, JobFileGone,
                           JobFilesListed, ClientRegistered, RunCancelled, NodeForgotten, Ticked>;

}  // namespace assay::core

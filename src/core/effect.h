// What a step of the cluster answers with: records, which the store commits, and effects, which
// leave the process only after that commit, in order.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/status.h"
#include "core/event.h"
#include "core/fleet_message.h"
#include "core/model.h"
#include "core/signal.h"

namespace assay {

// --- Records: state to be stored, not a log. Each replaces what was stored under its key. ---

struct PutJob {
  Job job;
  bool table_changed = true;  // false: the stored table and its ranks are still right
};
struct DropJob {
  std::string job;
};
struct PutDeletedJob {
  DeletedJob job;
};
struct DropDeletedJob {
  std::string job;
};
struct PutJobFile {
  std::string job;
  JobFile file;
};
struct DropJobFile {
  std::string job;
};
struct PutRun {  // a new run with its parts and ranks
  std::shared_ptr<const Run> run;
};
struct PutRunHeader {
  RunHeader run;
};
struct PutPart {
  RunId run = kNoRun;
  std::uint32_t index = 0;
  Part part;
};
struct PutRank {  // deadline and begun of one rank
  RunId run = kNoRun;
  std::int32_t rank = 0;
  OpSet begun;
  Ms deadline = 0;
};
struct PutStarts {  // the whole run was told to start: one deadline for all ranks that have none
  RunId run = kNoRun;
  Ms deadline = 0;
};
struct PutOutcome {
  RunId run = kNoRun;
  std::int32_t rank = 0;
  Op op = Op::kAic;
  Outcome outcome;
};
struct PutNode {
  Node node;
  bool inventory_changed = true;  // false: the stored devices are still right
};
struct DropNode {
  std::string node;
};
struct PutLease {
  DeviceKey device;
  RunId run = kNoRun;
};
struct DropLease {
  DeviceKey device;
};
// A line of the table `events`, for people. Empty strings and kNoRun: does not apply.
struct AddEvent {
  Ms time = 0;
  std::string kind;  // run_accepted, node_attached, ... (docs/database.md lists them)
  std::string job;
  RunId run = kNoRun;
  std::string node;
  std::string text;
};
using Record = std::variant<PutJob, DropJob, PutDeletedJob, DropDeletedJob, PutJobFile, DropJobFile,
                            PutRun, PutRunHeader, PutPart, PutRank, PutStarts, PutOutcome, PutNode,
                            DropNode, PutLease, DropLease, AddEvent>;

// --- Effects ---

struct PlannedPart {
  std::string node;
  std::string agent;  // "" for a subscriber
  std::vector<std::int32_t> ranks;
  std::vector<std::int32_t> devices;
};

// The answer to a unary call. `code` is the wire's (0, 402, 404, 411, 413 ...), `text` its info;
// callers that want a status use `status`, whose text is the same.
struct Answer {
  CallId call = 0;
  int code = 0;
  Status status;
  std::string text;
  RunId run = kNoRun;                                    // StressRequested, accepted; RunCancelled
  Executor executor = Executor::kAgent;                  // StressRequested
  OpSet ops;                                             // StressRequested
  std::shared_ptr<const std::vector<PlannedPart>> plan;  // StressRequested
  bool changed = false;                    // JobApplied, JobStateSet, JobFileGone, JobFilesListed
  RunState run_state = RunState::kClosed;  // RunCancelled
};

// Rank -> ops of a run, for the job's notify streams (docs/wire.md 4.1, row 5).
struct RankOps {
  std::int32_t rank = 0;
  OpSet ops;
};

// Of a job's streams. Attach puts a stream among the job's listeners of its topic; whatever is
// published after it, it gets. Streams of signals have no job; they get what was published before
// as well, as far as it is still true.
struct AttachStream {
  StreamId stream = 0;
  Topic topic = Topic::kNotify;
  std::string job;
};
struct PublishNotify {
  std::string job;
  RunId run = kNoRun;
  std::shared_ptr<const std::vector<RankOps>> ranks;
};
// To every result stream of the job: this one message, then OK.
struct PublishResult {
  std::string job;
  RunId run = kNoRun;
  std::shared_ptr<const std::string> message;
};
// To one stream that came after the end: this one message, then OK. The stream is never attached.
struct ReplayResult {
  StreamId stream = 0;
  std::string job;
  RunId run = kNoRun;
  std::shared_ptr<const std::string> message;
};
// Takes the stream out of its job and ends it. For a stream that is gone the status reaches nobody,
// but the shell may let go of it only now.
struct EndStream {
  StreamId stream = 0;
  std::string job;  // "" when it was never attached
  Status status;
};

// To everybody who subscribed to job signals.
struct PublishSignal {
  SignalPtr signal;
};
// The job's last deletion is old enough: who subscribes from now on need not hear of it.
struct ForgetDeleted {
  std::string job;
};

struct ToAgent {
  LinkId link = 0;
  CoordinatorMessage message;
};
struct EndLink {
  LinkId link = 0;
  Status status;
};
using Effect = std::variant<Answer, AttachStream, PublishNotify, PublishResult, ReplayResult,
                            EndStream, PublishSignal, ForgetDeleted, ToAgent, EndLink>;

struct Output {
  std::vector<Record> records;
  std::vector<Effect> effects;
};

}  // namespace assay

// The output of a step of the cluster: records, which the store commits, and effects, which the
// caller carries out in order, and only after that commit.
//
// Thread safety: values.
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
#include "core/verdict.h"

namespace assay::core {

// --- Records: state to be stored, not a log. Each replaces the stored value of its key. ---

struct PutJob {
  Job job;
  bool table_changed = true;  // false: the stored table and its ranks are still valid
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
// A new run with its parts and ranks.
struct PutRun {
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
// `begun` and `deadline` of one rank.
struct PutRank {
  RunId run = kNoRun;
  std::int32_t rank = 0;
  OpSet begun;
  Ms deadline = 0;
};
// The whole run starts: sets the deadline of all ranks that have none.
struct PutStarts {
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
  bool inventory_changed = true;  // false: the stored devices are still valid
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
// A row of the table `events`, for operators. Empty strings and kNoRun mean "does not apply".
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

// The answer to a unary call; `text` is for the client. The comments name the events whose answers
// set a field.
struct Answer {
  CallId call = 0;
  Verdict verdict = Verdict::kAccepted;
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

// Adds a stream to the job's listeners of its topic: it receives everything that is published after
// this effect. Signal streams have no job; they first receive the current state, that is, all
// earlier signals that are still valid.
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
// Sends this one message to every result stream of the job and ends the streams with OK.
struct PublishResult {
  std::string job;
  RunId run = kNoRun;
  std::shared_ptr<const std::string> message;
};
// Sends this one message to a stream that was opened after the run had ended, and ends it with OK.
// The stream is never attached.
struct ReplayResult {
  StreamId stream = 0;
  std::string job;
  RunId run = kNoRun;
  std::shared_ptr<const std::string> message;
};
// Detaches the stream from its job and ends it. If the peer has already closed the stream, the
// status has no receiver, but the caller may release the stream only after this effect.
struct EndStream {
  StreamId stream = 0;
  std::string job;  // "" when it was never attached
  base::Status status;
};

// Sends the signal to all subscribers of job signals.
struct PublishSignal {
  SignalPtr signal;
};
// The job's last deletion has expired: subscribers that attach later do not receive it.
struct ForgetDeleted {
  std::string job;
};

// Sends the message on an agent's link.
struct ToAgent {
  LinkId link = 0;
  CoordinatorMessage message;
};
struct EndLink {
  LinkId link = 0;
  base::Status status;
};

// The caller broke a rule of event.h, and the event was ignored. The caller logs it.
struct ReportDefect {
  std::string text;
};
using Effect =
    std::variant<Answer, AttachStream, PublishNotify, PublishResult, ReplayResult, EndStream,
                 PublishSignal, ForgetDeleted, ToAgent, EndLink, ReportDefect>;

struct Output {
  std::vector<Record> records;
  std::vector<Effect> effects;
};

}  // namespace assay::core

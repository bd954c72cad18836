// What the coordinator knows durably: jobs, runs, nodes, leases. Plain values; the rules that
// change them are in cluster.h, the tables that hold them in store/schema.sql.
//
// Times are milliseconds since 1970 on the coordinator's clock (Ms); 0 means "not yet" or "none".
// Thread safety: values. Rank tables are shared and immutable.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/op.h"
#include "core/run_state.h"
#include "rank_table/rank_table.h"

namespace assay {

using Ms = std::int64_t;
using RunId = std::int64_t;
inline constexpr RunId kNoRun = 0;

enum class JobState : std::uint8_t { kPending, kRunning, kComplete, kFailed };
std::string_view Name(JobState state);
std::optional<JobState> JobStateFromName(std::string_view name);

enum class Executor : std::uint8_t { kSubscriber, kAgent };
std::string_view Name(Executor executor);
std::optional<Executor> ExecutorFromName(std::string_view name);

// What a person or a platform says of a job.
struct JobSpec {
  std::string id;
  std::string name;
  std::string name_space;
  std::string framework;
  std::string master_addr;
  std::string shared_tor_ip;
  bool operator==(const JobSpec&) const = default;
};

struct Job {
  JobSpec spec;
  JobState state = JobState::kPending;
  std::string table_text;                   // as it was applied; "" while the table is not ready
  std::shared_ptr<const RankTable> table;   // never null; no ranks while the table is not ready
  std::shared_ptr<const std::string> hccl;  // HcclJson of the table; never null; derived
  Ms created = 0;
  Ms updated = 0;
  Ms ended = 0;              // complete or failed since; else 0
  bool has_trainer = false;  // a training agent registered for it (docs/wire.md 9, trainer)
  RunId last_run = kNoRun;   // the newest run, open or closed

  // Of the job's subscriber-runs: the wire has no test id, so late answers must not count for the
  // next one.
  Ms last_reply = 0;  // the last accepted reply
  Ms owing_until =
      0;  // a run ended with ranks unanswered: no new run until its answer comes or this time
};

// The end of a life of a job, for those who follow its states: the newest of each job, for a while.
struct DeletedJob {
  JobSpec spec;
  JobState state = JobState::kPending;
  Ms created = 0;
  Ms deleted = 0;
  std::shared_ptr<const std::string> hccl;  // as the job had it, a large one empty; never null
};

// What the jobs directory said last of a job, and whether the job lives by that. It outlives the
// job: a file that still stands after somebody deleted its job, or applied it otherwise, is no
// news.
struct JobFile {
  std::string print;   // Fingerprint() of the file's content
  bool owner = false;  // the job goes with the file
  bool operator==(const JobFile&) const = default;
};

// One op of one rank that has been answered.
struct Outcome {
  OutcomeCode code = OutcomeCode::kOk;
  std::string detail;
  Ms started = 0;  // 0: it was never started, or nobody said when
  Ms finished = 0;
  bool operator==(const Outcome&) const = default;
};

// One rank of a run: a copy, so that the job's table may change later.
struct RankTest {
  std::int32_t rank = 0;
  std::int32_t device = 0;
  std::uint32_t part = 0;  // index into Run::parts
  OpSet ops;
  OpSet begun;  // ops its executor reported as started (agents only)
  OpSet answered;
  Ms deadline = 0;                  // of the whole rank; 0 until it was told to start
  std::array<Outcome, 2> outcomes;  // [op], where answered.Has(op)

  bool done() const { return answered == ops; }
};

// The ranks of a run on one node of the rank table.
enum class PartState : std::uint8_t {
  kWaiting,   // not assigned, or its agent has to be told again
  kAssigned,  // sent to the agent
  kReady,     // its workers wait
  kStarted,   // told to start (subscribers: notified)
};
std::string_view Name(PartState state);
std::optional<PartState> PartStateFromName(std::string_view name);
struct Part {
  std::string node;  // as the rank table names it
  // The agent known on that node, else the node itself: its devices are leased under this name. For
  // an agent-run it is who executes the part.
  std::string agent;
  std::string identity;  // that agent's identity when it was chosen
  PartState state = PartState::kWaiting;
  bool operator==(const Part&) const = default;
};

struct RunHeader {
  RunId id = kNoRun;
  std::string job;
  Executor executor = Executor::kAgent;
  RunState state = RunState::kAccepted;
  OpSet ops;  // all ops of all its ranks
  Ms created = 0;
  Ms notify_after = 0;  // subscribers: not before (reply-quiet)
  Ms start_by = 0;      // who has not begun by then is not waited for
  Ms started = 0;       // ranks were notified or told to start
  Ms deadline = 0;      // the run ends by then, whatever happens
  Ms ended = 0;
  bool cancelled = false;
  std::int64_t rank_count = 0;
  std::int64_t expected = 0;  // outcomes it will have
  std::string message;        // the result as platforms get it; set when it ends
};

struct Run : RunHeader {
  std::vector<Part> parts;
  std::vector<RankTest> ranks;  // ascending by rank
  std::int64_t open = 0;        // outcomes still missing; derived, not stored
};

struct DeviceInfo {
  std::int32_t index = 0;  // physical id
  std::string kind;
  std::string detail;
  bool operator==(const DeviceInfo&) const = default;
};

// A machine with an agent.
struct Node {
  std::string name;
  std::string identity;  // of the agent's state folder
  std::string version;
  std::string host_name;
  std::string fqdn;
  std::vector<std::string> addresses;
  std::string driver;
  std::vector<DeviceInfo> devices;
  bool attached = false;
  Ms since = 0;  // of `attached`
  bool operator==(const Node&) const = default;
};

// A device that a run holds. `node` is the agent's name where one is known, else the rank table's
// node.
struct DeviceKey {
  std::string node;
  std::int32_t device = 0;
  auto operator<=>(const DeviceKey&) const = default;
};
using Leases = std::map<DeviceKey, RunId>;

// Everything that is stored and needed to go on: load(save(cluster)) == cluster. Closed runs are
// here only as the newest of their job, and without ranks (their outcomes stay in the store).
struct Durable {
  std::map<std::string, Job, std::less<>> jobs;
  std::map<std::string, DeletedJob, std::less<>> deleted;
  std::map<std::string, JobFile, std::less<>> job_files;
  std::map<RunId, Run> runs;
  std::map<std::string, Node, std::less<>> nodes;
  Leases leases;
  RunId next_run = 1;
};

}  // namespace assay

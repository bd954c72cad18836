// The coordinator's durable state: jobs, runs, nodes, leases. Plain values; the rules that change
// them are in cluster.h, the database tables that store them in store/schema.sql.
//
// Times are milliseconds since 1970 on the coordinator's clock (Ms); 0 means "not yet" or "none".
// Thread safety: values. Rank tables are shared and immutable.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/op.h"
#include "core/part_state.h"
#include "core/run_state.h"
#include "rank_table/rank_table.h"

namespace assay::core {

using Ms = std::int64_t;
using RunId = std::int64_t;
inline constexpr RunId kNoRun = 0;

enum class JobState : std::uint8_t { kPending, kRunning, kComplete, kFailed };
std::string_view Name(JobState state);
std::optional<JobState> JobStateFromName(std::string_view name);

enum class Executor : std::uint8_t { kSubscriber, kAgent };
std::string_view Name(Executor executor);
std::optional<Executor> ExecutorFromName(std::string_view name);

// The description of a job by a user or a platform.
struct JobSpec {
  std::string id;
  std::string name;
  std::string name_space;
  std::string framework;
  std::string master_addr;
  std::string shared_tor_ip;
  bool operator==(const JobSpec&) const = default;
};

// A job without the text of its rank table.
struct JobHeader {
  JobSpec spec;
  JobState state = JobState::kPending;
  // The table as applied, or as TableReading::text corrects it; "" while it is not ready.
  std::string table_text;
  std::shared_ptr<const rank_table::RankTable>
      table;                                // never null; no ranks while the table is not ready
  std::shared_ptr<const std::string> hccl;  // HcclJson() of the table; never null; derived
  Ms created = 0;
  Ms updated = 0;
  Ms ended = 0;              // when it became complete or failed; else 0
  bool has_trainer = false;  // a training agent registered for the job (docs/wire.md 9, trainer)
  RunId last_run = kNoRun;   // the newest run, open or closed

  // Runs that a subscriber executes: the wire has no test id, so a late reply to one run must not
  // count for the next.
  Ms last_reply = 0;  // the time of the last accepted reply
  // A run ended with unanswered ranks: no new run until the missing reply arrives or this time.
  Ms owing_until = 0;
};

struct Job : JobHeader {
  std::string table_text;  // as applied; "" while the table is not ready
};

// A deleted job, for subscribers of job signals: the latest deletion of each job id, retained for
// Settings::deleted_kept.
struct DeletedJob {
  JobSpec spec;
  JobState state = JobState::kPending;
  Ms created = 0;
  Ms deleted = 0;
  std::shared_ptr<const std::string> hccl;  // the job's; empty if it was too large; never null
};

// The last file of a job in the jobs directory, and whether it owns the job. It outlives the job:
// an unchanged file is not applied again after a client deleted its job or applied the job by other
// means.
struct JobFile {
  std::string fingerprint;  // Fingerprint() of the file's content
  bool owner = false;       // the job is deleted when the file is removed
  bool operator==(const JobFile&) const = default;
};

// The outcome of one op of one rank.
struct Outcome {
  OutcomeCode code = OutcomeCode::kOk;
  std::string detail;
  Ms started = 0;  // 0: never started, or the start was not reported
  Ms finished = 0;
  bool operator==(const Outcome&) const = default;
};

// One rank of a run: copied from the job's table, which may change later.
struct RankTest {
  std::int32_t rank = 0;
  std::int32_t device = 0;
  std::uint32_t part = 0;  // index into Run::parts
  OpSet ops;
  OpSet begun;  // ops that the executor reported as started (agents only)
  OpSet answered;
  Ms deadline = 0;          // of the whole rank; 0 until the rank is started
  PerOp<Outcome> outcomes;  // valid if answered.Has(op)

  bool done() const { return answered == ops; }
};

// A part is the ranks of a run on one node of the rank table.
struct Part {
  std::string node;  // as the rank table names it
  // The name of the node's agent if one is known, else the node's own name; the devices are leased
  // under this name. If agents execute the run, this agent executes the part.
  std::string agent;
  std::string identity;  // the identity of that agent when the run was accepted
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
  Ms notify_after = 0;  // subscribers are not notified earlier (--reply-quiet)
  Ms start_by = 0;      // ranks whose executor is not ready by then end as not run
  Ms started = 0;       // when the ranks were started or notified
  Ms deadline = 0;      // the run ends at this time at the latest
  Ms ended = 0;
  bool cancelled = false;
  std::int64_t rank_count = 0;
  std::int64_t expected = 0;  // number of outcomes of the complete run
  std::string message;        // the result message for platforms; set when the run ends
};

struct Run : RunHeader {
  std::vector<Part> parts;
  std::vector<RankTest> ranks;  // ascending by rank
  std::int64_t open = 0;        // missing outcomes; derived, not stored
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
  std::string identity;  // the agent's, stored in its state folder
  std::string version;
  std::string host_name;
  std::string fqdn;
  std::vector<std::string> addresses;
  std::string driver;
  std::vector<DeviceInfo> devices;
  bool attached = false;
  Ms since = 0;  // when `attached` last changed
  bool operator==(const Node&) const = default;
};

// A device that a run can lease. `node` is the agent's name if the node has a known agent, else
// the rank table's node.
struct DeviceKey {
  std::string node;
  std::int32_t device = 0;
  auto operator<=>(const DeviceKey&) const = default;
};
using Leases = std::map<DeviceKey, RunId>;

// All state that the cluster needs after a restart: load(save(cluster)) == cluster. Of the closed
// runs, only the newest of each job is here, without its ranks (the outcomes stay in the store).
struct Durable {
  std::map<std::string, Job, std::less<>> jobs;
  std::map<std::string, DeletedJob, std::less<>> deleted;
  std::map<std::string, JobFile, std::less<>> job_files;
  std::map<RunId, Run> runs;
  std::map<std::string, Node, std::less<>> nodes;
  Leases leases;
  RunId next_run = 1;
};

}  // namespace assay::core

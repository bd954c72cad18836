// Reads jobs, runs and nodes for operators (proto/admin.proto), on its own read-only connection.
//
// Each call is one short transaction, so that it sees one state and does not prevent the reuse of
// the log. It neither waits for the writer nor delays it. After a failure the next call opens a new
// connection.
//
// Thread safety: none; one thread at a time. Open it after the Store.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "core/model.h"
#include "store/sqlite.h"

namespace assay::store {

template <class T>
struct Page {
  std::vector<T> rows;
  bool more = false;
};

struct RankRow {
  std::int32_t rank = 0;
  std::string node;
  std::int32_t device = 0;
};

struct JobRow {
  core::JobSpec spec;
  core::JobState state = core::JobState::kPending;
  std::int64_t rank_count = 0;
  std::int64_t node_count = 0;
  core::Ms created = 0;
  core::Ms updated = 0;
  core::RunId last_run = core::kNoRun;
  std::vector<RankRow> ranks;  // GetJob only; ascending
};

struct RunRow {
  core::RunId id = core::kNoRun;
  std::string job;
  core::RunState state = core::RunState::kAccepted;
  core::Executor executor = core::Executor::kAgent;
  core::OpSet ops;
  std::int64_t rank_count = 0;
  std::int64_t expected = 0;  // outcomes at the end of the run
  std::int64_t answered = 0;  // outcomes so far
  std::array<std::int64_t, core::kOutcomeCodes> by_code{};
  core::Ms created = 0;
  core::Ms started = 0;
  core::Ms ended = 0;
  core::Ms deadline = 0;
  std::string message;  // not in ListRuns; "" while the run is open
};

struct ResultRow {
  std::int32_t rank = 0;
  std::string node;
  std::int32_t device = 0;
  core::Op op = core::Op::kAic;
  std::optional<core::Outcome> outcome;  // no value: not answered yet
};

struct RunResults {
  RunRow run;
  std::vector<ResultRow> results;  // by rank, then op
  std::int32_t next_rank = -1;     // first rank of the next page; -1: this is the last page
};

struct NodeDeviceRow {
  core::DeviceInfo info;
  core::RunId run = core::kNoRun;  // the run that holds the device
};

struct NodeRow {
  core::Node node;  // without its devices
  std::vector<NodeDeviceRow> devices;
};

class Queries {
 public:
  static constexpr int kPageDefault = 100;  // for a limit of 0 or less
  static constexpr int kPageMax = 10'000;   // for a limit that is greater

  static base::Result<std::unique_ptr<Queries>> Open(const std::string& file);

  // Jobs in order of id, starting with the first id after `after`.
  base::Result<Page<JobRow>> ListJobs(std::string_view after, int limit);
  base::Result<JobRow> GetJob(std::string_view id);  // kNotFound

  // Runs, newest first, that are older than `before` (kNoRun: all), of `job` ("": of all jobs).
  base::Result<Page<RunRow>> ListRuns(std::string_view job, core::RunId before, int limit);
  // The run with the ops of `limit` ranks, starting at `from_rank`. kNotFound.
  base::Result<RunResults> GetRun(core::RunId run, std::int32_t from_rank, int limit);
  base::Result<RunRow> GetRunOnly(core::RunId run);       // kNotFound
  base::Result<std::string> RunMessage(core::RunId run);  // kNotFound; "" while the run is open

  base::Result<std::vector<NodeRow>> ListNodes();  // by name

 private:
  explicit Queries(std::string file) : file_(std::move(file)) {}
  base::Status Connect();
  template <class T, class Read>
  base::Result<T> InTransaction(Read read);
  base::Status ReadRun(core::RunId run, RunRow* row);
  base::Status ReadResults(core::RunId run, std::int32_t from_rank, int limit, RunResults* results);
  base::Status ReadRanks(std::string_view job, std::vector<RankRow>* ranks);

  const std::string file_;
  std::unique_ptr<Database> database_;  // null: the next call opens it
};

}  // namespace assay::store

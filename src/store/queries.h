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

namespace assay {

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
  JobSpec spec;
  JobState state = JobState::kPending;
  std::int64_t rank_count = 0;
  std::int64_t node_count = 0;
  Ms created = 0;
  Ms updated = 0;
  RunId last_run = kNoRun;
  std::vector<RankRow> ranks;  // GetJob only; ascending
};

struct RunRow {
  RunId id = kNoRun;
  std::string job;
  RunState state = RunState::kAccepted;
  Executor executor = Executor::kAgent;
  OpSet ops;
  std::int64_t ranks = 0;
  std::int64_t expected = 0;  // outcomes at the end of the run
  std::int64_t answered = 0;  // outcomes so far
  std::array<std::int64_t, kOutcomeCodes> by_code{};
  Ms created = 0;
  Ms started = 0;
  Ms ended = 0;
  Ms deadline = 0;
  std::string message;  // not in ListRuns; "" while the run is open
};

struct ResultRow {
  std::int32_t rank = 0;
  std::string node;
  std::int32_t device = 0;
  Op op = Op::kAic;
  std::optional<Outcome> outcome;  // no value: not answered yet
};

struct RunResults {
  RunRow run;
  std::vector<ResultRow> results;  // by rank, then op
  std::int32_t next_rank = -1;     // first rank of the next page; -1: this is the last page
};

struct NodeDeviceRow {
  DeviceInfo info;
  RunId run = kNoRun;  // the run that holds the device
};

struct NodeRow {
  Node node;  // without its devices
  std::vector<NodeDeviceRow> devices;
};

class Queries {
 public:
  static constexpr int kPageDefault = 100;  // for a limit of 0 or less
  static constexpr int kPageMax = 10'000;   // for a limit that is greater

  static Result<std::unique_ptr<Queries>> Open(const std::string& file);

  // Jobs in order of id, starting with the first id after `after`.
  Result<Page<JobRow>> ListJobs(std::string_view after, int limit);
  Result<JobRow> GetJob(std::string_view id);  // kNotFound

  // Runs, newest first, that are older than `before` (kNoRun: all), of `job` ("": of all jobs).
  Result<Page<RunRow>> ListRuns(std::string_view job, RunId before, int limit);
  // The run with the ops of `limit` ranks, starting at `from_rank`. kNotFound.
  Result<RunResults> GetRun(RunId run, std::int32_t from_rank, int limit);
  Result<RunRow> GetRunOnly(RunId run);       // kNotFound
  Result<std::string> RunMessage(RunId run);  // kNotFound; "" while the run is open

  Result<std::vector<NodeRow>> ListNodes();  // by name

 private:
  explicit Queries(std::string file) : file_(std::move(file)) {}
  Status Connect();
  template <class T, class Read>
  Result<T> InTransaction(Read read);
  Status ReadRun(RunId run, RunRow* row);
  Status ReadResults(RunId run, std::int32_t from_rank, int limit, RunResults* results);
  Status ReadRanks(std::string_view job, std::vector<RankRow>* ranks);

  const std::string file_;
  std::unique_ptr<Database> database_;  // null: the next call opens it
};

}  // namespace assay

// The reading side: what operators ask about jobs, runs and nodes (proto/admin.proto), from its own
// read-only connection.
//
// Each call is one short transaction, so that it sees one state and never keeps the log from being
// used again. It neither waits for the writer nor holds it up. After a failure the next call opens
// a new connection.
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
  std::int64_t expected = 0;  // outcomes it will have
  std::int64_t answered = 0;  // outcomes it has
  std::array<std::int64_t, kOutcomeCodes> by_code{};
  Ms created = 0;
  Ms started = 0;
  Ms ended = 0;
  Ms deadline = 0;
  std::string message;  // not in ListRuns; "" while it is open
};

struct ResultRow {
  std::int32_t rank = 0;
  std::string node;
  std::int32_t device = 0;
  Op op = Op::kAic;
  std::optional<Outcome> outcome;  // none: not answered yet
};

struct RunResults {
  RunRow run;
  std::vector<ResultRow> results;  // by rank, then op
  std::int32_t next_rank = -1;     // where the next page begins; -1: this was the last
};

struct NodeDeviceRow {
  DeviceInfo info;
  RunId run = kNoRun;  // that holds it
};

struct NodeRow {
  Node node;  // its `devices` are below
  std::vector<NodeDeviceRow> devices;
};

class Queries {
 public:
  static constexpr int kPageDefault = 100;  // for a limit of 0 or less
  static constexpr int kPageMax = 10'000;   // for a greater one

  static Result<std::unique_ptr<Queries>> Open(const std::string& file);

  // Jobs by id, from the first after `after`.
  Result<Page<JobRow>> ListJobs(std::string_view after, int limit);
  Result<JobRow> GetJob(std::string_view id);  // kNotFound

  // The newest first, older than `before` (kNoRun: from the newest), of one job or ("") of all.
  Result<Page<RunRow>> ListRuns(std::string_view job, RunId before, int limit);
  // With the ops of `limit` ranks from `from_rank` on. kNotFound.
  Result<RunResults> GetRun(RunId run, std::int32_t from_rank, int limit);
  Result<RunRow> GetRunOnly(RunId run);       // kNotFound
  Result<std::string> RunMessage(RunId run);  // kNotFound; "" while it is open

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
  std::unique_ptr<Database> database_;  // null: to be opened
};

}  // namespace assay

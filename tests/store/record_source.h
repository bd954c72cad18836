// Random records that the coordinator could write, and the state that must be stored after them.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/effect.h"
#include "core/model.h"

namespace assay::store {

// A simple model of the store: applies records to a state in memory.
class RecordModel {
 public:
  void Apply(const core::Record& record);

  core::Durable Stored() const;  // what Store::Load must return

  // All records, including closed runs.
  const core::Durable& everything() const { return all_; }
  const std::vector<core::AddEvent>& events() const { return events_; }

 private:
  void operator()(const core::PutJob& record);
  void operator()(const core::DropJob& record);
  void operator()(const core::PutDeletedJob& record);
  void operator()(const core::DropDeletedJob& record);
  void operator()(const core::PutJobFile& record);
  void operator()(const core::DropJobFile& record);
  void operator()(const core::PutRun& record);
  void operator()(const core::PutRunHeader& record);
  void operator()(const core::PutPart& record);
  void operator()(const core::PutRank& record);
  void operator()(const core::PutStarts& record);
  void operator()(const core::PutOutcome& record);
  void operator()(const core::PutNode& record);
  void operator()(const core::DropNode& record);
  void operator()(const core::PutLease& record);
  void operator()(const core::DropLease& record);
  void operator()(const core::AddEvent& record);
  core::RankTest* Find(core::RunId run, std::int32_t rank);

  core::Durable all_;
  std::vector<core::AddEvent> events_;
};

class RecordSource {
 public:
  explicit RecordSource(std::uint64_t seed) : random_(seed) {}

  // The next batch, given the state written so far.
  std::vector<core::Record> Batch(const RecordModel& model, int size);

 private:
  std::int64_t Number(std::int64_t low, std::int64_t high);
  bool Chance(int percent) { return Number(1, 100) <= percent; }
  core::Ms Time() { return Chance(10) ? 0 : Number(1, 4'000'000'000'000); }
  std::string Text();
  std::string NodeName() { return "node-" + std::to_string(Number(0, 5)); }
  std::string JobId() { return "job-" + std::to_string(Number(0, 3)); }
  core::OpSet Ops() { return core::OpSet(static_cast<std::uint8_t>(Number(1, 3))); }
  core::Outcome AnOutcome();
  std::shared_ptr<const rank_table::RankTable> Table();
  core::Record AJob(const core::Durable& known);
  core::Record ADeletedJob();
  core::Record ARun(const core::Durable& known);
  core::Record AHeader(const core::Run& run);
  core::Record OfRun(const core::Durable& known);
  core::Record ANode(const core::Durable& known);
  core::Record Any(const RecordModel& model);

  std::mt19937_64 random_;
};

// The same batches for the same seed, in every process.
class BatchSequence {
 public:
  explicit BatchSequence(std::uint64_t seed) : source_(seed) {}

  const std::vector<core::Record>& Next() {
    batch_ = source_.Batch(model_, 1 + count_++ % 40);
    for (const core::Record& record : batch_) model_.Apply(record);
    return batch_;
  }
  const RecordModel& model() const { return model_; }  // after the last batch

 private:
  RecordSource source_;
  RecordModel model_;
  std::vector<core::Record> batch_;
  int count_ = 0;
};

}  // namespace assay::store

// Random records that the coordinator could write, and the state that must be stored after them.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/effect.h"
#include "core/model.h"

namespace assay {

// A simple model of the store: applies records to a state in memory.
class RecordModel {
 public:
  void Apply(const Record& record);

  Durable Stored() const;  // what Store::Load must return

  // All records, including closed runs.
  const Durable& everything() const { return all_; }
  const std::vector<AddEvent>& events() const { return events_; }

 private:
  void operator()(const PutJob& record);
  void operator()(const DropJob& record);
  void operator()(const PutDeletedJob& record);
  void operator()(const DropDeletedJob& record);
  void operator()(const PutJobFile& record);
  void operator()(const DropJobFile& record);
  void operator()(const PutRun& record);
  void operator()(const PutRunHeader& record);
  void operator()(const PutPart& record);
  void operator()(const PutRank& record);
  void operator()(const PutStarts& record);
  void operator()(const PutOutcome& record);
  void operator()(const PutNode& record);
  void operator()(const DropNode& record);
  void operator()(const PutLease& record);
  void operator()(const DropLease& record);
  void operator()(const AddEvent& record);
  RankTest* Find(RunId run, std::int32_t rank);

  Durable all_;
  std::vector<AddEvent> events_;
};

class RecordSource {
 public:
  explicit RecordSource(std::uint64_t seed) : random_(seed) {}

  // The next batch, given the state written so far.
  std::vector<Record> Batch(const RecordModel& model, int size);

 private:
  std::int64_t Number(std::int64_t low, std::int64_t high);
  bool Chance(int percent) { return Number(1, 100) <= percent; }
  Ms Time() { return Chance(10) ? 0 : Number(1, 4'000'000'000'000); }
  std::string Text();
  std::string NodeName() { return "node-" + std::to_string(Number(0, 5)); }
  std::string JobId() { return "job-" + std::to_string(Number(0, 3)); }
  OpSet Ops() { return OpSet(static_cast<std::uint8_t>(Number(1, 3))); }
  Outcome AnOutcome();
  std::shared_ptr<const RankTable> Table();
  Record AJob(const Durable& known);
  Record ADeletedJob();
  Record ARun(const Durable& known);
  Record AHeader(const Run& run);
  Record OfRun(const Durable& known);
  Record ANode(const Durable& known);
  Record Any(const RecordModel& model);

  std::mt19937_64 random_;
};

// The same batches for the same seed, in every process.
class BatchSequence {
 public:
  explicit BatchSequence(std::uint64_t seed) : source_(seed) {}

  const std::vector<Record>& Next() {
    batch_ = source_.Batch(model_, 1 + count_++ % 40);
    for (const Record& record : batch_) model_.Apply(record);
    return batch_;
  }
  const RecordModel& model() const { return model_; }  // after the last batch

 private:
  RecordSource source_;
  RecordModel model_;
  std::vector<Record> batch_;
  int count_ = 0;
};

}  // namespace assay

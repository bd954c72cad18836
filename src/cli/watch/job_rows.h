// The rows of `assay watch jobs` on a terminal: the newest state of every job, as lines that fit.
// It uses no terminal and no clock; the caller passes size and time.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "job.pb.h"

namespace assay::cli::watch {

class JobRows {
 public:
  // How long a deleted job is shown.
  static constexpr std::int64_t kDeletedShownMs = 10'000;
  // Above this number of deleted jobs the older half is dropped.
  static constexpr std::size_t kDeletedMax = 500;

  // `now_ms` is wall-clock time. `snapshot`: the signal is part of a snapshot, so its state began
  // before now.
  void Apply(const job::JobSummarySignal& signal, bool snapshot, std::int64_t now_ms);

  // Call BeginSnapshot after a new connection and EndSnapshot at the end of its snapshot:
  // EndSnapshot removes the present jobs that were not applied in between.
  void BeginSnapshot() { ++generation_; }
  void EndSnapshot();

  // Removes the deleted jobs that were shown for kDeletedShownMs. Returns whether there were any.
  bool Fade(std::int64_t now_ms);

  struct Line {
    std::string text;
    bool faint = false;  // the job is deleted
  };
  // At most `height` lines of at most `width` characters: the number of jobs in each state, a
  // title, the jobs whose state changed last, the number of jobs left out.
  std::vector<Line> Lines(std::size_t height, std::size_t width, std::int64_t now_ms) const;

  std::size_t size() const { return rows_.size(); }

 private:
  struct Row {
    std::string state;
    std::string name;
    std::string name_space;
    std::string ranks;
    std::string nodes;
    std::int64_t since_ms = 0;
    std::uint64_t order = 0;       // number of the last change, for rows with equal since_ms
    std::uint64_t generation = 0;  // of the last snapshot that contained the job
    std::size_t table = 0;         // hash of the rank table that `ranks` and `nodes` describe
    bool deleted = false;
  };
  using Rows = std::map<std::string, Row>;

  std::string Summary() const;
  std::vector<Rows::const_iterator> Newest(std::size_t count) const;
  void DropOldestDeleted();

  Rows rows_;
  std::uint64_t generation_ = 0;
  std::uint64_t changes_ = 0;
  std::size_t deleted_ = 0;
};

// "5s", "12m", "3h", "9d"
std::string AgeText(std::int64_t ms);

}  // namespace assay::cli::watch

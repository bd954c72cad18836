// What `assay watch jobs` shows on a terminal: the newest state of every job, as lines that fit.
// No terminal, no clock.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "job.pb.h"

namespace assay {

class JobRows {
 public:
  // A job that was deleted is shown this long.
  static constexpr std::int64_t kDeletedShownMs = 10'000;
  static constexpr std::size_t kDeletedMax = 500;

  // now_ms: of the wall clock. A snapshot's signals are of states that began before.
  void Apply(const job::JobSummarySignal& signal, bool snapshot, std::int64_t now_ms);

  // After a new connection: whatever has not been applied again since is no longer there.
  void BeginSnapshot() { ++generation_; }
  void EndSnapshot();

  // Forgets the deleted ones that were shown long enough. True: there were some.
  bool Fade(std::int64_t now_ms);

  struct Line {
    std::string text;
    bool faint = false;  // of a deleted job
  };
  // At most `height` lines of at most `width` characters: how many jobs in which state, a title,
  // the jobs whose state changed last, how many there are besides.
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
    std::uint64_t order = 0;       // of the last change, for rows of the same time
    std::uint64_t generation = 0;  // of the snapshot that last had it
    std::size_t table = 0;         // hash of the rank table that ranks and nodes are of
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

}  // namespace assay

// Decides what to do with the files of the jobs directory: which file to read when, which event to
// post to the cluster, when to retry and what to log. jobs_directory.h reads the files and posts
// the events.
//
//   desk.Noticed("job-1", now, 0);                        // or Scanned(...)
//   while (auto job = desk.Next(now)) {
//     auto order = desk.Looked(*job, Look(*job), now);    // an event for the cluster, or nullopt
//   }
//   desk.Answered("job-1", answer, now);                  // or Failed
//
// Rules:
// 1. A file has at most one order in progress, an order being an event posted to the cluster and
//    not yet answered. If the file changes meanwhile, it is read again after the answer.
// 2. A content that the cluster has applied or refused for good is not posted again until it
//    changes.
// 3. An invalid content may be half written: it is read again with growing pauses. If it stays
//    unchanged for too long for that, it is logged, and read again only when it changes.
// 4. The job of a file that vanishes is deleted only after a grace time, because editors rename the
//    old file before they write the new one.
// 5. A change that the cluster refuses because of a run in progress is retried: the content that
//    the file has when the run has ended counts.
//
// No I/O and no clock: the caller passes times, in milliseconds of any clock. Memory: some hundred
// bytes per file, however large.
//
// Thread safety: none; one thread owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "core/effect.h"
#include "core/event.h"
#include "rank_table/rank_table.h"

namespace assay::jobs_directory {

// Identifies a file and its version: a different stamp means that the content may differ.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t size = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;
  bool operator==(const FileStamp&) const = default;
};

// The result of reading a file.
struct FileFound {
  enum class Kind : std::uint8_t { kText, kAbsent, kUnreadable };
  Kind kind = Kind::kAbsent;
  FileStamp stamp;   // kText, kUnreadable
  std::string text;  // kText: the content; kUnreadable: the reason, without the file's name
};

struct FileSeen {
  std::string job;
  FileStamp stamp;
};

class JobFileDesk {
 public:
  struct Limits {
    std::size_t files = 100'000;
    std::size_t orders = 64;                           // in progress
    std::size_t order_bytes = std::size_t{128} << 20;  // of their contents; the last may exceed it
    rank_table::RankTableLimits table;
  };

  // folder: the path to print in log lines.
  JobFileDesk(std::string folder, const Limits& limits);
  explicit JobFileDesk(std::string folder) : JobFileDesk(std::move(folder), Limits()) {}

  // The file may have changed; it becomes due in delay_ms.
  void Noticed(const std::string& job, core::Ms now, core::Ms delay_ms);
  // All files of the directory. The first call makes a Listing due, so that the cluster deletes the
  // jobs whose files were removed while the coordinator was down.
  void Scanned(const std::vector<FileSeen>& files, core::Ms now);

  // The job whose file the caller must read now; nullopt: none is due, or a limit on orders is
  // reached.
  std::optional<std::string> Next(core::Ms now);
  // The event to post, if any. REQUIRES: Next() returned the job. The caller passes the answer to
  // Answered or Failed with the job's name.
  std::optional<core::Event> Looked(const std::string& job, FileFound&& found, core::Ms now);
  // The list of existing files to post, if it is due. Its answer is passed with the name "".
  std::optional<core::Event> Listing(core::Ms now);

  void Answered(const std::string& job, const core::Answer& answer, core::Ms now);
  // The cluster did not decide (overload or a failed commit): the order is retried, and no order is
  // posted for a second.
  void Failed(const std::string& job, core::Ms now);

  // When Next, Listing or TakeLines will return something; nullopt: only answers are awaited.
  std::optional<core::Ms> NextDue() const;
  std::size_t under_way() const { return under_way_; }

  // Lines for the log: warnings immediately, the number of changed jobs at most once a second.
  struct Line {
    bool warning = false;
    std::string text;
  };
  std::vector<Line> TakeLines(core::Ms now);

 private:
  enum class Doing : std::uint8_t { kNothing, kLooking, kApplying, kRemoving };
  struct Entry {
    Doing doing = Doing::kNothing;
    bool again = false;  // the file was noticed while `doing`
    std::optional<core::Ms> due;
    std::optional<core::Ms> gone_since;
    FileStamp stamp;
    std::string judged;    // fingerprint of the content that was applied or refused for good
    std::string standing;  // fingerprint of the content that is invalid
    core::Ms standing_since = 0;
    core::Ms pause = 0;
    std::string told;  // fingerprint of the content in progress
    std::size_t told_bytes = 0;
    std::vector<std::string> warnings;  // of the content in progress
    std::string complaint;              // the last warning logged; not repeated
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

  std::string Path(const std::string& job) const;
  // Makes the entry due at `at`, or leaves it at its earlier due time.
  void Schedule(Entries::iterator entry, core::Ms at);
  void Unschedule(Entries::iterator entry);
  void Complain(Entry* entry, const std::string& text);
  std::optional<core::Event> Gone(Entries::iterator entry, core::Ms now);
  std::optional<core::Event> Text(Entries::iterator entry, std::string&& text, core::Ms now);
  void NotYet(Entries::iterator entry, std::string&& fingerprint, std::string&& error,
              core::Ms wait, core::Ms now);
  void Settle(Entries::iterator entry);
  void Applied(Entries::iterator entry, const core::Answer& answer, core::Ms now);
  void Removed(Entries::iterator entry, const core::Answer& answer, core::Ms now);
  void Listed(const core::Answer& answer, core::Ms now);
  bool Room() const {
    return under_way_ < limits_.orders && bytes_under_way_ < limits_.order_bytes;
  }
  void CountIn(std::size_t* count, core::Ms now);

  const std::string folder_;
  const Limits limits_;
  Entries entries_;
  std::set<std::pair<core::Ms, std::string>> due_;
  std::size_t under_way_ = 0;
  std::size_t bytes_under_way_ = 0;
  bool scanned_ = false;
  std::optional<core::Ms> listing_due_;
  core::Ms paused_until_ = 0;
  std::string listing_complaint_;
  bool full_said_ = false;
  std::size_t taken_ = 0;  // since the last summary
  std::size_t deleted_ = 0;
  std::optional<core::Ms> summary_due_;
  std::vector<Line> lines_;
};

}  // namespace assay::jobs_directory

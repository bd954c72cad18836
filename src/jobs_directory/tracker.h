// What to do with the files of the jobs directory: when to look at which, what to tell the cluster,
// when to try again and what to say to a person. jobs_directory.h does the looking and the telling.
//
//   desk.Noticed("job-1", now, 0);                        // or Scanned(...)
//   while (auto job = desk.Next(now)) {
//     auto order = desk.Looked(*job, Look(*job), now);    // an event for the cluster, or nothing
//   }
//   desk.Answered("job-1", answer, now);                  // or Failed
//
// Of a file at most one order is under way; what happens meanwhile is looked at after the answer.
// A content that was judged, taken or refused for good, is not told again until it changes. One
// that is not yet right is looked at again with growing pauses, and complained of once it has stood
// long enough to be no half-written file. A file that vanishes has a moment to come back, as
// editors rename the old one before they write the new one. What is refused because of a run under
// way waits in the file: whatever that holds when the run has ended is told.
//
// Pure: times come in, in milliseconds of any clock. Memory: some hundred bytes per file, however
// large. Thread safety: none; one thread owns it.
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

namespace assay {

// Which file, in which state: another stamp means that it may hold something else.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t size = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;
  bool operator==(const FileStamp&) const = default;
};

// What a look at a file found.
struct FileFound {
  enum class Kind : std::uint8_t { kText, kAbsent, kUnreadable };
  Kind kind = Kind::kAbsent;
  FileStamp stamp;   // kText, kUnreadable
  std::string text;  // kText: its content; kUnreadable: why, without its name
};

struct FileSeen {
  std::string job;
  FileStamp stamp;
};

class JobFileDesk {
 public:
  struct Limits {
    std::size_t files = 100'000;
    std::size_t orders = 64;                           // under way at once
    std::size_t order_bytes = std::size_t{128} << 20;  // of their texts; one may be larger
    RankTableLimits table;
  };

  // folder: for texts.
  JobFileDesk(std::string folder, const Limits& limits);
  explicit JobFileDesk(std::string folder) : JobFileDesk(std::move(folder), Limits()) {}

  // Something happened to the file; it is worth a look in delay_ms.
  void Noticed(const std::string& job, Ms now, Ms delay_ms);
  // The whole directory. The first time, jobs whose files went while nobody looked become due.
  void Scanned(const std::vector<FileSeen>& files, Ms now);

  // The file to look at now, if one is due and not too much is under way.
  std::optional<std::string> Next(Ms now);
  // REQUIRES: Next() gave the job. The order's answer comes under the job's name.
  std::optional<Event> Looked(const std::string& job, FileFound&& found, Ms now);
  // Which files there are, when the cluster has to be told; its answer comes under the name "".
  std::optional<Event> Listing(Ms now);

  void Answered(const std::string& job, const Answer& answer, Ms now);
  // Nobody could decide: it is tried again, and nothing else is told for a moment.
  void Failed(const std::string& job, Ms now);

  // When Next, Listing or TakeLines have something; none while only answers are awaited.
  std::optional<Ms> NextDue() const;
  std::size_t under_way() const { return under_way_; }

  // Lines for the log: complaints at once, how much was taken at most once a second.
  struct Line {
    bool warning = false;
    std::string text;
  };
  std::vector<Line> TakeLines(Ms now);

 private:
  enum class Doing : std::uint8_t { kNothing, kLooking, kApplying, kRemoving };
  struct Entry {
    Doing doing = Doing::kNothing;
    bool again = false;  // something happened meanwhile
    std::optional<Ms> due;
    std::optional<Ms> gone_since;
    FileStamp stamp;
    std::string judged;    // the print of what needs not be told again
    std::string standing;  // the print of what is not right yet
    Ms standing_since = 0;
    Ms pause = 0;
    std::string told;  // the print under way
    std::size_t told_bytes = 0;
    std::vector<std::string> warnings;  // of what is under way
    std::string complaint;              // said last: not said again
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

  std::string Path(const std::string& job) const;
  void Schedule(Entries::iterator entry, Ms at);  // not later than it is due already
  void Unschedule(Entries::iterator entry);
  void Complain(Entry* entry, const std::string& text);
  std::optional<Event> Gone(Entries::iterator entry, Ms now);
  std::optional<Event> Text(Entries::iterator entry, std::string&& text, Ms now);
  void NotYet(Entries::iterator entry, std::string&& print, std::string&& error, Ms wait, Ms now);
  void Settle(Entries::iterator entry);
  void Applied(Entries::iterator entry, const Answer& answer, Ms now);
  void Removed(Entries::iterator entry, const Answer& answer, Ms now);
  void Listed(const Answer& answer, Ms now);
  bool Room() const {
    return under_way_ < limits_.orders && bytes_under_way_ < limits_.order_bytes;
  }
  void CountIn(std::size_t* count, Ms now);

  const std::string folder_;
  const Limits limits_;
  Entries entries_;
  std::set<std::pair<Ms, std::string>> due_;
  std::size_t under_way_ = 0;
  std::size_t bytes_under_way_ = 0;
  bool scanned_ = false;
  std::optional<Ms> listing_due_;
  Ms paused_until_ = 0;
  std::string listing_complaint_;
  bool full_said_ = false;
  std::size_t taken_ = 0;  // since the last summary
  std::size_t deleted_ = 0;
  std::optional<Ms> summary_due_;
  std::vector<Line> lines_;
};

}  // namespace assay

#include "jobs_directory/tracker.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "control/signal_size.h"
#include "core/job_file.h"

namespace assay::jobs_directory {
namespace {

constexpr core::Ms kGoneGrace = 1000;  // from the removal of a file to that of its job
// Times for which a content must be unchanged before it is logged: an incomplete one, whose writer
// may be slow, and an invalid one, which may be half overwritten.
constexpr core::Ms kUnfinishedWait = 10'000;
constexpr core::Ms kBrokenWait = 1000;
constexpr core::Ms kFirstPause = 100;
constexpr core::Ms kLastPause = 5000;
constexpr core::Ms kBusyPause = 2000;
constexpr core::Ms kFailedPause = 1000;
constexpr core::Ms kUnreadablePause = 10'000;
constexpr core::Ms kSummaryPause = 1000;

}  // namespace

JobFileDesk::JobFileDesk(std::string folder, const Limits& limits)
    : folder_(std::move(folder)), limits_(limits) {}

std::string JobFileDesk::Path(const std::string& job) const {
  return folder_ + "/" + job + ".json";
}

void JobFileDesk::Schedule(Entries::iterator entry, core::Ms at) {
  if (entry->second.due && *entry->second.due <= at) return;
  Unschedule(entry);
  entry->second.due = at;
  due_.emplace(at, entry->first);
}

void JobFileDesk::Unschedule(Entries::iterator entry) {
  if (entry->second.due) due_.erase({*entry->second.due, entry->first});
  entry->second.due.reset();
}

void JobFileDesk::Complain(Entry* entry, const std::string& text) {
  if (entry->complaint == text) return;
  entry->complaint = text;
  lines_.push_back({true, text});
}

void JobFileDesk::Noticed(const std::string& job, core::Ms now, core::Ms delay_ms) {
  auto entry = entries_.find(job);
  if (entry == entries_.end()) {
    if (entries_.size() >= limits_.files) {
      if (!std::exchange(full_said_, true)) {
        lines_.push_back({true, Path(job) + ": ignored, as are all later files: the jobs " +
                                    "directory has more than " + std::to_string(limits_.files) +
                                    " files"});
      }
      return;
    }
    entry = entries_.emplace(job, Entry()).first;
  }
  if (entry->second.doing == Doing::kNothing) {
    Schedule(entry, now + delay_ms);
  } else {
    entry->second.again = true;
  }
}

void JobFileDesk::Scanned(const std::vector<FileSeen>& files, core::Ms now) {
  std::set<std::string_view> seen;
  for (const FileSeen& file : files) {
    seen.insert(file.job);
    const auto entry = entries_.find(file.job);
    const bool same =
        entry != entries_.end() && entry->second.stamp == file.stamp && !entry->second.gone_since;
    if (!same) Noticed(file.job, now, 0);
  }
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    const bool known_gone = entry->second.gone_since || entry->second.doing == Doing::kRemoving;
    if (seen.count(entry->first) == 0 && !known_gone) Noticed(entry->first, now, 0);
  }
  if (!std::exchange(scanned_, true)) listing_due_ = now;
}

std::optional<std::string> JobFileDesk::Next(core::Ms now) {
  if (now < paused_until_ || !Room()) return std::nullopt;
  if (due_.empty() || due_.begin()->first > now) return std::nullopt;
  const auto entry = entries_.find(due_.begin()->second);
  Unschedule(entry);
  entry->second.doing = Doing::kLooking;
  return entry->first;
}

std::optional<core::Event> JobFileDesk::Looked(const std::string& job, FileFound&& found,
                                               core::Ms now) {
  const auto at = entries_.find(job);
  Entry& entry = at->second;
  entry.doing = Doing::kNothing;
  if (found.kind == FileFound::Kind::kAbsent) return Gone(at, now);
  entry.gone_since.reset();
  entry.stamp = found.stamp;
  if (found.kind == FileFound::Kind::kText) return Text(at, std::move(found.text), now);
  Complain(&entry, Path(job) + ": " + found.text);
  Schedule(at, now + kUnreadablePause);
  return std::nullopt;
}

std::optional<core::Event> JobFileDesk::Gone(Entries::iterator at, core::Ms now) {
  Entry& entry = at->second;
  if (!entry.gone_since) entry.gone_since = now;
  if (now < *entry.gone_since + kGoneGrace) {
    Schedule(at, *entry.gone_since + kGoneGrace);
    return std::nullopt;
  }
  entry.doing = Doing::kRemoving;
  entry.judged.clear();
  entry.standing.clear();
  ++under_way_;
  return core::JobFileGone{0, {}, at->first};
}

std::optional<core::Event> JobFileDesk::Text(Entries::iterator at, std::string&& text,
                                             core::Ms now) {
  Entry& entry = at->second;
  std::string fingerprint = core::Fingerprint(text);
  if (fingerprint == entry.judged) {
    entry.standing.clear();
    entry.complaint.clear();
    return std::nullopt;
  }
  const std::size_t bytes = text.size();
  core::JobFileReading reading =
      core::ReadJobFile(at->first, std::move(text), Path(at->first), limits_.table);
  switch (reading.verdict) {
    case core::JobFileVerdict::kUnfinished:
      NotYet(at, std::move(fingerprint), std::move(reading.error), kUnfinishedWait, now);
      return std::nullopt;
    case core::JobFileVerdict::kBroken:
      NotYet(at, std::move(fingerprint), std::move(reading.error), kBrokenWait, now);
      return std::nullopt;
    case core::JobFileVerdict::kTake:
      break;
  }
  entry.doing = Doing::kApplying;
  entry.told = std::move(fingerprint);
  entry.told_bytes = bytes;
  entry.warnings = std::move(reading.warnings);
  std::string missing = control::MissingHcclWarning(reading.job.spec, *reading.job.hccl);
  if (!missing.empty()) entry.warnings.push_back(std::move(missing));
  ++under_way_;
  bytes_under_way_ += bytes;
  return std::move(reading.job);
}

void JobFileDesk::NotYet(Entries::iterator at, std::string&& fingerprint, std::string&& error,
                         core::Ms wait, core::Ms now) {
  Entry& entry = at->second;
  if (entry.standing != fingerprint) {
    entry.standing = std::move(fingerprint);
    entry.standing_since = now;
    entry.pause = kFirstPause;
  } else {
    entry.pause = std::min(2 * entry.pause, kLastPause);
  }
  const core::Ms stands_until = entry.standing_since + wait;
  if (now < stands_until) return Schedule(at, std::min(now + entry.pause, stands_until));
  Complain(&entry, error + "; the file is read again when it changes");
}

std::optional<core::Event> JobFileDesk::Listing(core::Ms now) {
  if (now < paused_until_ || !listing_due_ || *listing_due_ > now) return std::nullopt;
  listing_due_.reset();
  ++under_way_;
  core::JobFilesListed listed;
  for (const auto& [job, entry] : entries_) listed.jobs.push_back(job);
  return listed;
}

void JobFileDesk::Settle(Entries::iterator at) {
  Entry& entry = at->second;
  entry.doing = Doing::kNothing;
  --under_way_;
  bytes_under_way_ -= std::exchange(entry.told_bytes, 0);
}

void JobFileDesk::Answered(const std::string& job, const core::Answer& answer, core::Ms now) {
  if (job.empty()) {
    --under_way_;
    return Listed(answer, now);
  }
  const auto at = entries_.find(job);
  const Doing was = at->second.doing;
  Settle(at);
  const bool again = std::exchange(at->second.again, false);
  if (again) Schedule(at, now);
  if (was == Doing::kApplying) {
    Applied(at, answer, now);
  } else {
    Removed(at, answer, now);  // may erase it
  }
}

void JobFileDesk::Failed(const std::string& job, core::Ms now) {
  paused_until_ = now + kFailedPause;
  if (job.empty()) {
    --under_way_;
    listing_due_ = now;
    return;
  }
  const auto at = entries_.find(job);
  Settle(at);
  at->second.again = false;
  Schedule(at, now);
}

void JobFileDesk::Applied(Entries::iterator at, const core::Answer& answer, core::Ms now) {
  Entry& entry = at->second;
  const std::string path = Path(at->first);
  if (answer.verdict == core::Verdict::kBusy) {
    Complain(&entry, path + ": " + answer.text + "; the file is applied when the run has ended");
    return Schedule(at, now + kBusyPause);
  }
  entry.judged = std::exchange(entry.told, {});
  entry.standing.clear();
  if (answer.verdict != core::Verdict::kAccepted) {
    return Complain(&entry, path + ": refused: " + answer.text);
  }
  entry.complaint.clear();
  if (answer.changed) {
    CountIn(&taken_, now);
    for (const std::string& warning : entry.warnings)
      lines_.push_back({true, path + ": " + warning});
  }
  entry.warnings.clear();
}

void JobFileDesk::Removed(Entries::iterator at, const core::Answer& answer, core::Ms now) {
  Entry& entry = at->second;
  if (answer.verdict != core::Verdict::kAccepted) {
    Complain(&entry, Path(at->first) + " was removed, but " + answer.text);
    return Schedule(at, now + kBusyPause);
  }
  if (answer.changed) CountIn(&deleted_, now);
  if (entry.due) {  // the file was noticed meanwhile
    entry.gone_since.reset();
    entry.complaint.clear();
    return;
  }
  Unschedule(at);
  entries_.erase(at);
}

void JobFileDesk::Listed(const core::Answer& answer, core::Ms now) {
  if (answer.changed) CountIn(&deleted_, now);
  if (answer.verdict == core::Verdict::kAccepted) return;
  listing_due_ = now + kBusyPause;
  if (std::exchange(listing_complaint_, answer.text) == answer.text) return;
  lines_.push_back({true, "jobs directory " + folder_ + ": " + answer.text});
}

std::optional<core::Ms> JobFileDesk::NextDue() const {
  std::optional<core::Ms> next = listing_due_;
  if (Room() && !due_.empty() && (!next || due_.begin()->first < *next)) next = due_.begin()->first;
  if (next) next = std::max(*next, paused_until_);
  if (summary_due_ && (!next || *summary_due_ < *next)) next = summary_due_;
  return next;
}

void JobFileDesk::CountIn(std::size_t* count, core::Ms now) {
  ++*count;
  if (!summary_due_) summary_due_ = now + kSummaryPause;
}

std::vector<JobFileDesk::Line> JobFileDesk::TakeLines(core::Ms now) {
  if (summary_due_ && *summary_due_ <= now) {
    std::string text = "jobs directory " + folder_ + ": ";
    if (taken_ > 0) text += base::Count(taken_, "job", "jobs") + " applied";
    if (taken_ > 0 && deleted_ > 0) text += ", ";
    if (deleted_ > 0) text += base::Count(deleted_, "job", "jobs") + " deleted";
    lines_.push_back({false, std::move(text)});
    taken_ = 0;
    deleted_ = 0;
    summary_due_.reset();
  }
  return std::exchange(lines_, {});
}

}  // namespace assay::jobs_directory

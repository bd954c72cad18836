#include "cli/watch/job_rows.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/number.h"
#include "base/text.h"
#include "cli/table.h"
#include "rank_table/rank_table.h"

namespace assay::cli::watch {
namespace {

constexpr char kDelete[] = "delete";

// "1700000000" as milliseconds; 0 if `text` is not a time.
std::int64_t SecondsAsMs(const std::string& text) {
  const std::int64_t seconds = base::ParseNumber<std::int64_t>(text).value_or(0);
  return seconds > 0 && seconds < std::int64_t{1} << 40 ? seconds * 1000 : 0;
}

std::vector<std::string> SplitLines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

Table TitledTable() {
  using A = Table::Align;
  return Table({{"JOB"},
                {"STATE"},
                {"SINCE", A::kRight},
                {"RANKS", A::kRight},
                {"NODES", A::kRight},
                {"NAME"},
                {"NAMESPACE"}});
}

}  // namespace

std::string AgeText(std::int64_t ms) {
  const std::int64_t seconds = std::max<std::int64_t>(ms, 0) / 1000;
  if (seconds < 120) return std::to_string(seconds) + "s";
  if (seconds < 120 * 60) return std::to_string(seconds / 60) + "m";
  if (seconds < 48 * 3600) return std::to_string(seconds / 3600) + "h";
  return std::to_string(seconds / 86'400) + "d";
}

void JobRows::Apply(const job::JobSummarySignal& signal, bool snapshot, std::int64_t now_ms) {
  const bool deleted = signal.operator_() == kDelete;
  auto found = rows_.find(signal.jobid());
  // The job was deleted before it was ever shown.
  if (found == rows_.end() && deleted) return;
  const bool known = found != rows_.end();
  if (!known) found = rows_.emplace(signal.jobid(), Row()).first;
  Row& row = found->second;
  row.generation = generation_;
  const std::string state = deleted ? "deleted" : signal.jobstatus();
  if (state != row.state) {
    // The signal contains when the job began and ended, not when it entered its state.
    const std::int64_t ended = SecondsAsMs(signal.deletetime());
    const std::int64_t began = snapshot ? SecondsAsMs(signal.time()) : now_ms;
    row.since_ms = ended != 0 ? ended : began != 0 ? began : now_ms;
    if (deleted) row.since_ms = now_ms;
    row.order = ++changes_;
    row.state = state;
    if (deleted && !row.deleted) ++deleted_;
    if (!deleted && row.deleted) --deleted_;
    row.deleted = deleted;
  }
  // A job without a name has its id as its name.
  if (signal.jobname() != signal.jobid()) row.name = signal.jobname();
  row.name_space = signal.namespace_();
  const std::size_t table = std::hash<std::string>()(signal.hccljson());
  if (!known || table != row.table) {
    const rank_table::TableReading reading =
        rank_table::ReadRankTable(signal.hccljson(), signal.jobid());
    row.ranks = reading.accepted() ? std::to_string(reading.table.ranks.size()) : "-";
    row.nodes = reading.accepted() ? std::to_string(reading.table.nodes.size()) : "-";
    row.table = table;
  }
  if (deleted_ > kDeletedMax) DropOldestDeleted();
}

void JobRows::EndSnapshot() {
  for (auto it = rows_.begin(); it != rows_.end();) {
    if (it->second.generation == generation_ || it->second.deleted) {
      ++it;
    } else {
      it = rows_.erase(it);
    }
  }
}

bool JobRows::Fade(std::int64_t now_ms) {
  if (deleted_ == 0) return false;
  const std::size_t before = deleted_;
  for (auto it = rows_.begin(); it != rows_.end();) {
    if (it->second.deleted && now_ms - it->second.since_ms >= kDeletedShownMs) {
      it = rows_.erase(it);
      --deleted_;
    } else {
      ++it;
    }
  }
  return deleted_ != before;
}

// Drops half of the deleted jobs, so that the search does not repeat for every further one.
void JobRows::DropOldestDeleted() {
  std::vector<std::uint64_t> orders;
  for (const auto& [id, row] : rows_) {
    if (row.deleted) orders.push_back(row.order);
  }
  const auto middle = orders.begin() + static_cast<std::ptrdiff_t>(orders.size() / 2);
  std::nth_element(orders.begin(), middle, orders.end());
  const std::uint64_t keep_from = *middle;
  deleted_ -= std::erase_if(rows_, [keep_from](const auto& one) {
    return one.second.deleted && one.second.order < keep_from;
  });
}

std::string JobRows::Summary() const {
  std::map<std::string, std::size_t> states;
  for (const auto& [id, row] : rows_) {
    if (!row.deleted) ++states[row.state];
  }
  std::string text = base::Count(rows_.size() - deleted_, "job", "jobs");
  const char* between = ": ";
  for (const auto& [state, count] : states) {
    text += between + std::to_string(count) + " " + base::Shown(state);
    between = ", ";
  }
  return text;
}

std::vector<JobRows::Rows::const_iterator> JobRows::Newest(std::size_t count) const {
  std::vector<Rows::const_iterator> newest;
  newest.reserve(rows_.size());
  for (auto it = rows_.begin(); it != rows_.end(); ++it) newest.push_back(it);
  count = std::min(count, newest.size());
  std::partial_sort(newest.begin(), newest.begin() + static_cast<std::ptrdiff_t>(count),
                    newest.end(), [](Rows::const_iterator a, Rows::const_iterator b) {
                      if (a->second.since_ms != b->second.since_ms) {
                        return a->second.since_ms > b->second.since_ms;
                      }
                      return a->second.order > b->second.order;
                    });
  newest.resize(count);
  return newest;
}

std::vector<JobRows::Line> JobRows::Lines(std::size_t height, std::size_t width,
                                          std::int64_t now_ms) const {
  std::vector<Line> lines;
  lines.push_back({Summary(), false});
  const std::size_t room = height > 2 ? height - 2 : 0;  // below the summary and the title
  const bool all = rows_.size() <= room;
  const auto newest = Newest(all ? rows_.size() : std::max<std::size_t>(room, 1) - 1);
  Table table = TitledTable();
  for (const auto& it : newest) {
    const Row& row = it->second;
    table.Add({it->first, row.state, AgeText(now_ms - row.since_ms), row.ranks, row.nodes, row.name,
               row.name_space});
  }
  const std::vector<std::string> texts = SplitLines(table.Text());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    lines.push_back({texts[i], i > 0 && newest[i - 1]->second.deleted});
  }
  if (!all)
    lines.push_back({"... and " + std::to_string(rows_.size() - newest.size()) + " more", false});
  if (lines.size() > height) lines.resize(height);
  for (Line& line : lines) line.text = Fitted(std::move(line.text), width);
  return lines;
}

}  // namespace assay::cli::watch

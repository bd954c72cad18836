#include "core/cluster/result_text.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/ids.h"
#include "base/json_string.h"
#include "base/text.h"

namespace assay::core::cluster {
namespace {

// The longest prefix of at most `max` bytes that does not split a character.
std::string_view Head(std::string_view text, std::size_t max) {
  if (text.size() <= max) return text;
  std::size_t end = max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

struct Findings {
  std::set<std::string_view> faulty_nodes;
  std::vector<std::int32_t> late_ranks;  // timeout, voltage not restored
  std::vector<std::int32_t> not_run_ranks;
};

Findings Find(const Run& run) {
  Findings found;
  for (const RankTest& rank : run.ranks) {
    bool late = false;
    bool not_run = false;
    for (const Op op : rank.answered) {
      switch (rank.outcomes[op].code) {
        case OutcomeCode::kFaulty:
          found.faulty_nodes.insert(run.parts[rank.part].node);
          break;
        case OutcomeCode::kTimeout:
        case OutcomeCode::kVoltageNotRestored:
          late = true;
          break;
        case OutcomeCode::kNotRun:
          not_run = true;
          break;
        case OutcomeCode::kOk:
          break;
      }
    }
    if (late) found.late_ranks.push_back(rank.rank);
    if (not_run) found.not_run_ranks.push_back(rank.rank);
  }
  return found;
}

// The worst outcome decides: even for a cancelled run, the sentence reports a fault.
std::string Sentence(const Run& run, std::size_t ranks_shown) {
  Findings found = Find(run);
  if (!found.faulty_nodes.empty()) {
    std::string text = "stress test find fault, isolate node:map[";
    for (const std::string_view node : found.faulty_nodes) {
      if (text.back() != '[') text += ' ';
      text.append(node).append(":{}");
    }
    return text + "]";
  }
  const auto list = [&](const std::vector<std::int32_t>& ranks) {
    if (ranks.size() <= ranks_shown) return base::List(ranks);
    const auto end = ranks.begin() + static_cast<std::ptrdiff_t>(ranks_shown);
    return base::List({ranks.begin(), end}) + " and " + std::to_string(ranks.size() - ranks_shown) +
           " more";
  };
  if (!found.late_ranks.empty()) {
    return "stress test timeout fault, faultRank:" + list(found.late_ranks);
  }
  if (run.cancelled) return "stress test cancelled";
  if (!found.not_run_ranks.empty()) {
    return "stress test finish, not run on rank:" + list(found.not_run_ranks);
  }
  return "stress test finish";
}

bool AllOk(const RankTest& rank) {
  return std::all_of(rank.ops.begin(), rank.ops.end(),
                     [&](Op op) { return rank.outcomes[op].code == OutcomeCode::kOk; });
}

// The ranks that are omitted to keep the message within its limit.
struct Economy {
  bool skip_ok_ranks = false;
  std::size_t text_bytes = base::kDetailBytesMax;
  std::size_t ranks_listed = SIZE_MAX;
  std::size_t ranks_kept = SIZE_MAX;
};

void AppendRank(const RankTest& rank, const Economy& economy, Executor executor,
                std::string* json) {
  json->append("{\"rankResult\":{");
  bool first = true;
  for (const Op op : rank.answered) {
    if (!first) json->push_back(',');
    first = false;
    const Outcome& outcome = rank.outcomes[op];
    json->push_back('"');
    json->push_back(static_cast<char>('0' + static_cast<int>(op)));
    json->append("\":{\"code\":\"");
    json->push_back(static_cast<char>('0' + static_cast<int>(outcome.code)));
    json->push_back('"');
    // Platforms expect "OK"; the agent's measurements stay in the database.
    const bool plain_ok = outcome.code == OutcomeCode::kOk && executor == Executor::kAgent;
    const std::string_view text = Head(
        plain_ok ? std::string_view("OK") : std::string_view(outcome.detail), economy.text_bytes);
    if (!text.empty()) {
      json->append(",\"result\":");
      base::AppendJsonString(text, json);
    }
    json->push_back('}');
  }
  json->append("}}");
}

struct LeftOut {
  std::int64_t ok = 0;
  std::int64_t others = 0;
};

std::string Json(const Run& run, const Economy& economy, LeftOut* left_out) {
  // Keys in text order, for nodes and for devices ("10" before "2").
  std::map<std::string_view, std::map<std::string, const RankTest*>> nodes;
  std::size_t kept = 0;
  for (const RankTest& rank : run.ranks) {
    if (economy.skip_ok_ranks && AllOk(rank)) {
      ++left_out->ok;
      continue;
    }
    if (kept == economy.ranks_kept) {
      ++left_out->others;
      continue;
    }
    ++kept;
    nodes[run.parts[rank.part].node].emplace(std::to_string(rank.device), &rank);
  }
  std::string json = "{";
  for (const auto& [node, devices] : nodes) {
    if (json.size() > 1) json.push_back(',');
    base::AppendJsonString(node, &json);
    json.append(":{");
    bool first = true;
    for (const auto& [device, rank] : devices) {
      if (!first) json.push_back(',');
      first = false;
      base::AppendJsonString(device, &json);
      json.push_back(':');
      AppendRank(*rank, economy, run.executor, &json);
    }
    json.push_back('}');
  }
  json.push_back('}');
  return json;
}

}  // namespace

std::string ResultText(const Run& run, std::size_t max) {
  // Each step omits more; the last ones are for tens of thousands of failed ranks.
  const Economy economies[] = {{false, base::kDetailBytesMax, SIZE_MAX, SIZE_MAX},
                               {true, base::kDetailBytesMax, SIZE_MAX, SIZE_MAX},
                               {true, 64, SIZE_MAX, SIZE_MAX},
                               {true, 16, SIZE_MAX, SIZE_MAX},
                               {true, 0, SIZE_MAX, SIZE_MAX},
                               {true, 0, 1000, SIZE_MAX},
                               {true, 0, 1000, 20'000},
                               {true, 0, 1000, 0}};
  std::string text;
  for (const Economy& economy : economies) {
    LeftOut left_out;
    const std::string json = Json(run, economy, &left_out);
    text = Sentence(run, economy.ranks_listed);
    // ClusterD writes a space after "finish," and none after the other sentences.
    const std::string_view before = text == "stress test finish" ? ", result:" : ",result:";
    if (left_out.ok > 0) text += ", " + std::to_string(left_out.ok) + " ok ranks left out";
    if (left_out.others > 0) {
      text += ", " + std::to_string(left_out.others) + " other ranks left out (see the database)";
    }
    text.append(before).append(json);
    if (text.size() <= max) break;
  }
  return text;
}

}  // namespace assay::core::cluster

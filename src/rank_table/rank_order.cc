// Numbers the ranks of a table without rank ids, by server or by pod, and reports when the two
// orders differ.
#include <algorithm>
#include <charconv>
#include <iterator>
#include <tuple>

#include "base/text.h"
#include "rank_table/builder.h"

namespace assay::rank_table {
namespace {

// The index at the end of a pod's name: 2 of "job-pod-2". Returns -1 if there is none.
std::int32_t PodIndex(std::string_view name) {
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos) return -1;
  const std::string_view digits = name.substr(dash + 1);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) return -1;
  std::int32_t index = -1;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  return result.ec == std::errc{} ? index : -1;
}

}  // namespace

void TableBuilder::SetPod(std::size_t first, const JsonScalar& pod_name, const std::string& label) {
  const std::string name = pod_name.type == JsonType::kString ? pod_name.Text() : "";
  const std::int32_t pod = PodIndex(TrimBlanks(name));
  for (std::size_t i = first; i < places_.size(); ++i) places_[i].pod = pod;
  if (!pod_problem_.empty()) return;
  if (pod < 0) {
    pod_problem_ = label + (pod_name.null() ? " has no pod_name"
                                            : ": pod_name " + ValueText(pod_name) +
                                                  " does not end in an index such as -0");
  } else if (!pods_.insert(pod).second) {
    pod_problem_ = label + ": pod_name " + base::Quoted(name) + " has the index of another pod, " +
                   std::to_string(pod);
  }
}

// REQUIRES: no rank has an id.
bool TableBuilder::NumberRanks() {
  const bool pods_known = pod_problem_.empty() && !pods_.empty();
  if (rank_order_ == RankOrder::kPod && !pods_known) {
    return Fail("ranks cannot be numbered by pod: " + pod_problem_);
  }
  std::vector<Place> by_pod;
  if (pods_known) by_pod = places_;
  std::stable_sort(by_pod.begin(), by_pod.end(), [](const Place& a, const Place& b) {
    return std::tie(a.pod, a.device) < std::tie(b.pod, b.device);
  });
  // HCCL orders servers by id as text, then by device id.
  std::stable_sort(places_.begin(), places_.end(), [this](const Place& a, const Place& b) {
    return std::tie(nodes_[a.node].name, a.device) < std::tie(nodes_[b.node].name, b.device);
  });
  if (rank_order_ == RankOrder::kUnspecified && pods_known) WarnOfOrder(places_, by_pod);
  if (rank_order_ == RankOrder::kPod) places_ = std::move(by_pod);
  used_order_ = rank_order_ == RankOrder::kPod ? RankOrder::kPod : RankOrder::kServer;
  std::int32_t rank = 0;
  for (Place& place : places_) place.rank = rank++;
  if (rank_order_ != RankOrder::kUnspecified) WriteRankIds();
  return true;
}

void TableBuilder::WarnOfOrder(const std::vector<Place>& by_server,
                               const std::vector<Place>& by_pod) {
  const auto same = [](const Place& a, const Place& b) {
    return a.node == b.node && a.device == b.device;
  };
  const auto [server, pod] =
      std::mismatch(by_server.begin(), by_server.end(), by_pod.begin(), by_pod.end(), same);
  if (server == by_server.end()) return;
  order_in_doubt_ = true;
  Warn(
      "the table has no rank ids, and two orders give different ones: by server_id as text, rank " +
      std::to_string(std::distance(by_server.begin(), server)) + " is " + Shown(*server) +
      "; by the index at the end of pod_name, it is " + Shown(*pod) +
      ". The order by server_id was used");
}

// Corrects the text so that it states the rank ids: reading it needs no options.
void TableBuilder::WriteRankIds() {
  for (const Place& place : places_) {
    const std::string id = '"' + std::to_string(place.rank) + '"';
    std::size_t null_id = 0;
    JsonWalker(text_, place.offset).Members([&](std::string_view key, JsonWalker& value) {
      if (key == "rank_id") null_id = value.offset();
      return true;
    });
    if (null_id > 0) {
      corrections_.push_back({null_id, std::string_view("null").size(), id});
    } else {
      corrections_.push_back({place.offset + 1, 0, "\"rank_id\":" + id + ","});
    }
  }
}

}  // namespace assay::rank_table

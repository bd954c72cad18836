#include "cli/output.h"

#include <iostream>

#include "base/text.h"
#include "core/op.h"

namespace assay::cli {
namespace {

Json RankJson(std::int32_t rank, const std::string& node, std::int32_t device) {
  return Json{{"rank", rank}, {"node", node}, {"device", device}};
}

// As Visible(), and a newline is a control character as well.
std::string VisibleLine(std::string_view text) { return base::Shown(text, std::string::npos); }

}  // namespace

std::string Visible(std::string_view text) {
  std::string visible;
  std::size_t copied = 0;  // the bytes of `text` that `visible` has
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    const int length = base::Utf8Length(rest);
    const std::size_t bytes = length <= 0 ? 1 : static_cast<std::size_t>(length);
    if (rest[0] != '\n' && (length <= 0 || base::IsControl(rest))) {
      visible += text.substr(copied, i - copied);
      visible += VisibleLine(rest.substr(0, bytes));
      copied = i + bytes;
    }
    i += bytes;
  }
  visible += text.substr(copied);
  return visible;
}

void Print(std::string_view text) { std::cout << Visible(text); }

std::string JsonText(const Json& json, int indent) {
  // Text from outside, such as a file name, may not be UTF-8. Invalid bytes are replaced; without
  // `replace`, dump() would throw. The escapes that Visible() writes are those of JSON: control
  // characters are in strings only, and are of no more than 16 bits.
  return Visible(json.dump(indent, ' ', false, Json::error_handler_t::replace));
}

void PrintJson(const Json& json) { std::cout << JsonText(json, 2) << '\n'; }

bool FlushOutput() {
  std::cout.flush();
  return std::cout.good();
}

void Tell(std::string_view text) { std::cerr << VisibleLine(text) + '\n'; }

void Say(const std::string& command, std::string_view text) {
  Tell(command + ": " + std::string(text));
}

int Fail(const std::string& command, const base::Status& status) {
  Say(command, status.text());
  return flags::kExitFailed;
}

void Ask(std::string_view text) { std::cerr << VisibleLine(text) << std::flush; }

void Redraw(std::string_view text) { std::cerr << "\r\x1b[K" + VisibleLine(text) << std::flush; }

Json RanksJson(const rank_table::RankTable& table) {
  Json ranks = Json::array();
  for (const rank_table::RankPlace& place : table.ranks) {
    ranks.push_back(RankJson(place.rank, table.nodes[place.node].name, place.device));
  }
  return ranks;
}

Json RanksJson(const admin::Job& job) {
  Json ranks = Json::array();
  for (const admin::Rank& rank : job.ranks()) {
    ranks.push_back(RankJson(rank.rank(), rank.node(), rank.device()));
  }
  return ranks;
}

Json JobJson(const admin::Job& job) {
  return Json{{"id", job.id()},
              {"name", job.name()},
              {"namespace", job.namespace_()},
              {"framework", job.framework()},
              {"state", job.state()},
              {"master_addr", job.master_addr()},
              {"shared_tor_ip", job.shared_tor_ip()},
              {"rank_count", job.rank_count()},
              {"node_count", job.node_count()},
              {"created_ms", job.created_ms()},
              {"updated_ms", job.updated_ms()},
              {"last_run", job.last_run()}};
}

Json RunJson(const admin::Run& run) {
  Json by_code = Json::object();
  for (int code = 0; code < run.by_code_size() && code < core::kOutcomeCodes; ++code) {
    by_code[std::string(Name(static_cast<core::OutcomeCode>(code)))] = run.by_code(code);
  }
  return Json{{"run", run.id()},
              {"job", run.job()},
              {"state", run.state()},
              {"executor", run.executor()},
              {"ops", Json(std::vector<std::string>(run.ops().begin(), run.ops().end()))},
              {"ranks", run.ranks()},
              {"expected", run.expected()},
              {"answered", run.answered()},
              {"outcomes", by_code},
              {"created_ms", run.created_ms()},
              {"started_ms", run.started_ms()},
              {"ended_ms", run.ended_ms()},
              {"deadline_ms", run.deadline_ms()}};
}

Json ResultJson(const admin::Result& result) {
  Json json{{"rank", result.rank()},
            {"node", result.node()},
            {"device", result.device()},
            {"op", result.op()},
            {"code", nullptr},
            {"outcome", nullptr},
            {"detail", result.detail()},
            {"started_ms", result.started_ms()},
            {"finished_ms", result.finished_ms()}};
  if (result.code() >= 0) {
    json["code"] = result.code();
    json["outcome"] = result.outcome();
  }
  return json;
}

Json NodeJson(const admin::Node& node) {
  Json devices = Json::array();
  for (const admin::NodeDevice& device : node.devices()) {
    devices.push_back(Json{{"index", device.index()},
                           {"kind", device.kind()},
                           {"detail", device.detail()},
                           {"run", device.run()}});
  }
  return Json{{"name", node.name()},
              {"state", node.state()},
              {"since_ms", node.since_ms()},
              {"identity", node.identity()},
              {"version", node.version()},
              {"host_name", node.host_name()},
              {"fqdn", node.fqdn()},
              {"addresses",
               Json(std::vector<std::string>(node.addresses().begin(), node.addresses().end()))},
              {"driver", node.driver()},
              {"devices", devices}};
}

}  // namespace assay::cli

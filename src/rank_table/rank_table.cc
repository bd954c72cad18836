#include "rank_table/rank_table.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/text.h"
#include "rank_table/forms.h"
#include "rank_table/json_text.h"
#include "rank_table/other_files.h"

namespace assay::rank_table {
namespace {

constexpr std::size_t kSourceBytes = 160;

struct FormReader {
  bool (*read)(const TableHead&, TableBuilder&, TableRules*);
  std::string_view version;  // the only version with this list; "": several versions have it
};
// [Form]
constexpr FormReader kForms[] = {
    {ReadServerList, ""}, {ReadRankList, "2.0"}, {ReadGroupList, ""}, {ReadNodeList, "1.1"}};
static_assert(std::size(kForms) == std::size(kFormLists));
constexpr std::string_view kVersions[] = {"1.0", "1.1", "1.2", "1.4", "2.0"};

std::size_t Length(const TableHead& head, const JsonScalar& array) {
  std::size_t count = 0;
  JsonWalker(head.text, array.offset).Elements([&count](std::size_t, JsonWalker&) {
    ++count;
    return true;
  });
  return count;
}

// Fails because the table has no supported list; names the kind of file if it is a known one.
bool FailWithoutList(const TableHead& head, TableBuilder& builder) {
  const bool prefill = !head.prefill_device_list.null();
  const bool decode = !head.decode_device_list.null();
  if (prefill || decode) {
    return builder.Fail(std::string("no server_list (found ") +
                        (prefill ? "prefill_device_list" : "") +
                        (prefill && decode ? " and " : "") + (decode ? "decode_device_list" : "") +
                        ": a vLLM-Ascend PD table, not an HCCL rank table)");
  }
  if (head.server_group_list.type == JsonType::kArray) {
    return builder.Fail(
        "no server_list (found server_group_list: a MindIE/ClusterD global rank "
        "table with " +
        base::Count(Length(head, head.server_group_list), "group", "groups") + ")");
  }
  return builder.Fail("no server_list, rank_list, group_list or node_list" +
                      (head.keys.empty() ? " (the table is empty)"
                                         : " (found " + head.keys + "): not a rank table"));
}

// Only a 2.0 table may omit status.
bool CheckStatus(const TableHead& head, bool v2, TableBuilder& builder) {
  const JsonScalar& status = head.status;
  if (status.null()) return v2 || builder.Fail("status is missing (expected completed)");
  if (status.type == JsonType::kString && (status.raw == "completed" || status.raw == "complete")) {
    return true;
  }
  return builder.FailAt(status.offset, "status is " + ValueText(status) +
                                           ", neither completed (HCCL) nor complete (ClusterD)");
}

bool CheckVersion(const TableHead& head, const FormReader& form, TableBuilder& builder) {
  const JsonScalar& version = head.version;
  if (version.null() || (version.type == JsonType::kString && version.raw.empty())) return true;
  if (version.type != JsonType::kString && version.type != JsonType::kNumber) {
    return builder.FailAt(version.offset, "version is " + ValueText(version) + ", not a string");
  }
  const std::string list(kFormLists[static_cast<std::size_t>(head.form())]);
  const std::string read_as = ", read as " + list + " table";
  const bool known = std::count(std::begin(kVersions), std::end(kVersions), version.raw) > 0;
  const bool fits = form.version.empty() ? version.raw != "1.1" : version.raw == form.version;
  if (!known) {
    builder.Warn("unknown version " + base::Quoted(version.Text()) + read_as);
  } else if (!fits) {
    builder.Warn("version " + base::Quoted(version.raw) + " does not match " + list + read_as);
  }
  return true;
}

// Checks the counts of the whole table, which may appear with any list.
bool CheckTotals(const TableHead& head, TableBuilder& builder) {
  const std::size_t ranks = builder.rank_count();
  const std::string has = "the table lists " + base::Count(ranks, "rank", "ranks");
  return builder.DeclaredCount(head.rank_count, "rank_count", "", ranks, has) &&
         builder.DeclaredCount(head.device_count, "device_count", "", ranks, has) &&
         builder.DeclaredCount(head.device_num, "device_num", "", ranks, has);
}

TableReading Reject(std::string error) {
  TableReading reading;
  reading.error = std::move(error);
  return reading;
}

TableReading NotReady(std::string error) {
  TableReading reading = Reject(std::move(error));
  reading.verdict = TableVerdict::kNotReady;
  return reading;
}

// Returns no value if text is one JSON object, else the final reading.
std::optional<TableReading> JudgeText(std::string_view text, const RankTableLimits& limits) {
  if (text.size() > limits.bytes) {
    return Reject("the table has " + std::to_string(text.size()) +
                  " bytes, more than the limit of " + std::to_string(limits.bytes));
  }
  if (IsBlank(text)) {
    return NotReady("file is empty: may still be being written");
  }
  if (const std::string_view mark = text.substr(0, 2); mark == "\xFF\xFE" || mark == "\xFE\xFF") {
    return Reject("the text is UTF-16: save it as UTF-8");
  }
  if (const auto fault = CheckJson(text)) {
    if (fault->at_end) return NotReady(fault->text);
    if (std::string problem = KubernetesYamlProblem(text); !problem.empty()) {
      return Reject(std::move(problem));
    }
    return Reject("line " + std::to_string(LineAt(text, fault->offset)) + ": " + fault->text +
                  " (offset " + std::to_string(fault->offset) + ")");
  }
  const JsonType type = JsonWalker(text).type();
  if (type == JsonType::kObject) return std::nullopt;
  return Reject("expected a JSON object, found " + std::string(WithArticle(type)));
}

TableReading ReadTable(std::string_view text, const ReadingOptions& options) {
  const RankTableLimits& limits = options.limits;
  const TableHead head = ReadHead(text);
  if (head.status.type == JsonType::kString && head.status.raw == "initializing") {
    return NotReady("table not ready: status is initializing");
  }
  TableBuilder builder(text, options, head.v2() ? limits.device_id_v2 : limits.device_id_v1);
  const FormReader& form = kForms[static_cast<std::size_t>(head.form())];
  TableRules rules;
  std::optional<RankTable> table;
  if (head.list(head.form()).null()) {
    FailWithoutList(head, builder);
  } else if (CheckStatus(head, head.v2(), builder) && CheckVersion(head, form, builder) &&
             form.read(head, builder, &rules) && CheckTotals(head, builder)) {
    table = builder.Finish(rules);
  }
  if (!table) return Reject(builder.error());
  TableReading reading;
  reading.verdict = table->warnings.empty() ? TableVerdict::kAccept : TableVerdict::kAcceptWarn;
  reading.table = *std::move(table);
  reading.text = builder.CorrectedText();
  return reading;
}

TableReading ReadFromConfigMap(ConfigMap map, const ReadingOptions& options) {
  if (!map.error.empty()) return Reject(std::move(map.error));
  const std::string of = map.place + " of the Kubernetes ConfigMap " + base::Quoted(map.name);
  if (IsBlank(map.table)) return NotReady(of + " is empty: may still be being written");
  std::optional<TableReading> judged = JudgeText(map.table, options.limits);
  TableReading reading = judged ? *std::move(judged) : ReadTable(map.table, options);
  if (!reading.accepted()) {
    reading.error = "the table in " + of + ": " + reading.error;
    return reading;
  }
  reading.verdict = TableVerdict::kAcceptWarn;
  reading.table.warnings.insert(reading.table.warnings.begin(), "the table was taken from " + of);
  if (reading.text.empty()) reading.text = std::move(map.table);
  return reading;
}

TableReading Read(std::string_view text, const ReadingOptions& options) {
  if (auto judged = JudgeText(text, options.limits)) return *std::move(judged);
  TableReading reading = ReadTable(text, options);
  if (reading.verdict != TableVerdict::kReject) return reading;
  if (auto map = ReadConfigMap(text)) return ReadFromConfigMap(*std::move(map), options);
  if (auto problem = KubernetesListProblem(text); !problem.empty()) return Reject(problem);
  if (IsRootInfo(text)) {
    return Reject(
        "the root info file of one host (/etc/hccl_rootinfo.json: topo_file_path and no rank ids), "
        "not the rank table of a job: use the table that the job was started with");
  }
  return reading;
}

}  // namespace

std::string_view VerdictName(TableVerdict verdict) {
  switch (verdict) {
    case TableVerdict::kAccept:
      return "accept";
    case TableVerdict::kAcceptWarn:
      return "accept-warn";
    case TableVerdict::kNotReady:
      return "not-ready";
    case TableVerdict::kReject:
      return "reject";
  }
  return "";
}

TableReading ReadRankTable(std::string_view text, std::string_view source,
                           const ReadingOptions& options) {
  TableReading reading = Read(text, options);
  if (!reading.accepted() && !source.empty()) {
    reading.error = base::ShownEnd(source, kSourceBytes) + ": " + reading.error;
  }
  return reading;
}

}  // namespace assay::rank_table

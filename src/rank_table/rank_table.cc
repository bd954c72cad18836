#include "rank_table/rank_table.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/text.h"
#include "rank_table/forms.h"
#include "rank_table/json_text.h"

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

// Returns no value if text is one JSON object, else the final reading.
std::optional<TableReading> JudgeText(std::string_view text, const RankTableLimits& limits) {
  const auto reject = [](std::string error) {
    return TableReading{TableVerdict::kReject, {}, std::move(error)};
  };
  if (text.size() > limits.bytes) {
    return reject("the table has " + std::to_string(text.size()) +
                  " bytes, more than the limit of " + std::to_string(limits.bytes));
  }
  if (IsBlank(text)) {
    return TableReading{TableVerdict::kNotReady, {}, "file is empty: may still be being written"};
  }
  if (const std::string_view mark = text.substr(0, 2); mark == "\xFF\xFE" || mark == "\xFE\xFF") {
    return reject("the text is UTF-16: save it as UTF-8");
  }
  if (const auto fault = CheckJson(text)) {
    if (fault->at_end) return TableReading{TableVerdict::kNotReady, {}, fault->text};
    return reject("line " + std::to_string(LineAt(text, fault->offset)) + ": " + fault->text +
                  " (offset " + std::to_string(fault->offset) + ")");
  }
  const JsonType type = JsonWalker(text).type();
  if (type == JsonType::kObject) return std::nullopt;
  return reject("expected a JSON object, found " + std::string(WithArticle(type)));
}

TableReading Read(std::string_view text, const RankTableLimits& limits) {
  if (auto judged = JudgeText(text, limits)) return *std::move(judged);
  const TableHead head = ReadHead(text);
  if (head.status.type == JsonType::kString && head.status.raw == "initializing") {
    return {TableVerdict::kNotReady, {}, "table not ready: status is initializing"};
  }
  TableBuilder builder(text, limits, head.v2() ? limits.device_id_v2 : limits.device_id_v1);
  const FormReader& form = kForms[static_cast<std::size_t>(head.form())];
  TableRules rules;
  std::optional<RankTable> table;
  if (head.list(head.form()).null()) {
    FailWithoutList(head, builder);
  } else if (CheckStatus(head, head.v2(), builder) && CheckVersion(head, form, builder) &&
             form.read(head, builder, &rules) && CheckTotals(head, builder)) {
    table = builder.Finish(rules);
  }
  if (!table) return {TableVerdict::kReject, {}, builder.error()};
  const bool warned = !table->warnings.empty();
  return {warned ? TableVerdict::kAcceptWarn : TableVerdict::kAccept, *std::move(table), {}};
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
                           const RankTableLimits& limits) {
  TableReading reading = Read(text, limits);
  if (!reading.accepted() && !source.empty()) {
    reading.error = base::ShownEnd(source, kSourceBytes) + ": " + reading.error;
  }
  return reading;
}

}  // namespace assay::rank_table

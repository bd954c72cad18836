#include "cli/results.h"

#include "core/op.h"

namespace assay::cli {
namespace {

constexpr int kRanksPerPage = 5000;

std::int64_t CountOf(const admin::Run& run, core::OutcomeCode code) {
  const int index = static_cast<int>(code);
  return index < run.by_code_size() ? run.by_code(index) : 0;
}

}  // namespace

base::Result<RunResults> ReadRun(Client* client, std::int64_t run) {
  RunResults read;
  admin::GetRunRequest request;
  request.set_run(run);
  request.set_results(true);
  request.set_limit(kRanksPerPage);
  while (true) {
    auto page = client->Call(&admin::Admin::Stub::PrepareAsyncGetRun, request);
    if (!page.ok()) return page.status();
    read.run = page->run();
    for (admin::Result& result : *page->mutable_results()) {
      read.results.push_back(std::move(result));
    }
    if (page->next_rank() < 0) return read;
    request.set_from_rank(page->next_rank());
  }
}

Table ResultTable(const std::vector<admin::Result>& results) {
  using A = Table::Align;
  Table table({{"RANK", A::kRight},
               {"NODE"},
               {"DEVICE", A::kRight},
               {"OP"},
               {"OUTCOME"},
               {"SECONDS", A::kRight},
               {"DETAIL", A::kLeft, 120}});
  for (const admin::Result& result : results) {
    std::string seconds = "-";
    if (result.started_ms() > 0 && result.finished_ms() >= result.started_ms()) {
      const std::int64_t tenths = (result.finished_ms() - result.started_ms() + 50) / 100;
      seconds = std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
    }
    table.Add({std::to_string(result.rank()), result.node(), std::to_string(result.device()),
               result.op(), result.code() < 0 ? "(waiting)" : result.outcome(), seconds,
               result.detail()});
  }
  return table;
}

Json RunWithResultsJson(const RunResults& run) {
  Json json = RunJson(run.run);
  json["message"] = run.run.message();
  Json results = Json::array();
  for (const admin::Result& result : run.results) results.push_back(ResultJson(result));
  json["results"] = std::move(results);
  return json;
}

std::string NotOkText(const admin::Run& run) {
  std::string text;
  for (const core::OutcomeCode code :
       {core::OutcomeCode::kFaulty, core::OutcomeCode::kVoltageNotRestored,
        core::OutcomeCode::kTimeout, core::OutcomeCode::kNotRun}) {
    const std::int64_t count = CountOf(run, code);
    if (count == 0) continue;
    if (!text.empty()) text += ", ";
    text += std::to_string(count) + " " + std::string(Name(code));
  }
  return text;
}

int StressExit(const admin::Run& run) {
  if (CountOf(run, core::OutcomeCode::kFaulty) > 0) return kExitFaulty;
  if (CountOf(run, core::OutcomeCode::kVoltageNotRestored) > 0) return kExitVoltage;
  if (CountOf(run, core::OutcomeCode::kTimeout) > 0) return kExitTimeout;
  if (CountOf(run, core::OutcomeCode::kNotRun) > 0) return kExitNotRun;
  return flags::kExitOk;
}

}  // namespace assay::cli


#include "base/number.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/results.h"
#include "cli/table.h"

namespace assay::cli {
namespace {

Table RunTable() {
  using A = Table::Align;
  return Table({{"RUN", A::kRight},
                {"JOB"},
                {"STATE"},
                {"EXECUTOR"},
                {"RANKS", A::kRight},
                {"ANSWERED"},
                {"NOT OK"},
                {"BEGUN (UTC)"},
                {"ENDED (UTC)"}});
}

std::vector<std::string> RunCells(const admin::Run& run) {
  return {std::to_string(run.id()),
          run.job(),
          run.state(),
          run.executor(),
          std::to_string(run.ranks()),
          std::to_string(run.answered()) + "/" + std::to_string(run.expected()),
          NotOkText(run),
          TimeText(run.started_ms()),
          TimeText(run.ended_ms())};
}

// Parses a run number. kInvalid: `text` is not one.
base::Result<std::int64_t> RunNumber(const std::string& text) {
  const std::optional<std::int64_t> run = base::ParseNumber<std::int64_t>(text);
  if (!run || *run <= 0) {
    return base::InvalidError(base::Quoted(text) +
                              " is not a run number; `assay run list` shows the runs");
  }
  return *run;
}

}  // namespace

int RunList(Args args) {
  const std::string command = "assay run list";
  ClientFlags client_flags;
  std::string job;
  std::int64_t limit = 50;
  flags::Flags flags(command, "List stress tests, the newest first.", "JSON: an array of runs.");
  client_flags.Declare(&flags);
  flags.Text("job", &job, "ID", "list only the runs of this job")
      .Number("limit", &limit, 1, 1'000'000, "maximum number of runs to list");
  if (const auto status = flags.Parse(std::move(args))) return *status;
  Client client(client_flags.coordinator);
  Json json = Json::array();
  Table table = RunTable();
  admin::ListRunsRequest request;
  request.set_job(job);
  while (limit > 0) {
    request.set_limit(static_cast<std::int32_t>(std::min<std::int64_t>(limit, 1000)));
    const auto page = client.Call(&admin::Admin::Stub::PrepareAsyncListRuns, request);
    if (!page.ok()) return Fail(command, page.status());
    for (const admin::Run& run : page->runs()) {
      json.push_back(RunJson(run));
      table.Add(RunCells(run));
      request.set_before(run.id());
      --limit;
    }
    if (!page->more() || page->runs().empty()) break;
  }
  if (client_flags.json) {
    PrintJson(json);
  } else {
    Print(table.Text());
  }
  return flags::kExitOk;
}

int RunShow(Args args) {
  const std::string command = "assay run show";
  ClientFlags client_flags;
  std::string text;
  flags::Flags flags(
      command, "Show a stress test and the results of its ranks.",
      "JSON: the run with \"results\": [{\"rank\", \"node\", \"device\", \"op\", \"code\",\n"
      "\"outcome\", \"detail\", \"started_ms\", \"finished_ms\"}, ...] (code and outcome are\n"
      "null while an op is unanswered) and \"message\", the result as platforms receive it.");
  client_flags.Declare(&flags);
  flags.Positional("RUN", &text, "number of the run");
  if (const auto status = flags.Parse(std::move(args))) return *status;
  const auto run = RunNumber(text);
  if (!run.ok()) return Fail(command, run.status());
  Client client(client_flags.coordinator);
  const auto shown = ReadRun(&client, *run);
  if (!shown.ok()) return Fail(command, shown.status());
  if (client_flags.json) {
    PrintJson(RunWithResultsJson(*shown));
    return flags::kExitOk;
  }
  Table head = RunTable();
  head.Add(RunCells(shown->run));
  Print(head.Text() + "\n" + ResultTable(shown->results).Text());
  return flags::kExitOk;
}

int RunCancel(Args args) {
  const std::string command = "assay run cancel";
  ClientFlags client_flags;
  std::string text;
  flags::Flags flags(
      command, "Cancel a stress test.",
      "Running ops get the time of --kill-grace to finish, then their workers are killed. A\n"
      "training agent inside the job cannot be killed: the run waits for its answer. Answers that\n"
      "arrive still count.\n\n"
      "Exit status: 0 requested (the run may still be `cancelling`), 1 refused or coordinator not\n"
      "reached, 128 + N ended by signal N (130: Ctrl-C).");
  client_flags.Declare(&flags);
  flags.Positional("RUN", &text, "number of the run");
  if (const auto status = flags.Parse(std::move(args))) return *status;
  const auto run = RunNumber(text);
  if (!run.ok()) return Fail(command, run.status());
  admin::CancelRunRequest request;
  request.set_run(*run);
  const auto response =
      Client(client_flags.coordinator).Call(&admin::Admin::Stub::PrepareAsyncCancelRun, request);
  if (!response.ok()) return Fail(command, response.status());
  if (client_flags.json) {
    PrintJson(Json{{"run", *run}, {"state", response->state()}});
  } else {
    Print("run " + std::to_string(*run) + ": " + base::Shown(response->state()) + "\n");
  }
  return flags::kExitOk;
}

}  // namespace assay::cli

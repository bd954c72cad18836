#include "base/text.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/file.h"
#include "cli/output.h"
#include "cli/state_lines.h"
#include "cli/table.h"
#include "rank_table/rank_table.h"

namespace assay::cli {
namespace {

constexpr int kExitNotReady = 75;  // EX_TEMPFAIL of sysexits.h: try again later
constexpr int kPage = 1000;

constexpr char kApplyDetails[] =
    "--rank-table is required. If the table is not complete yet, apply the job with the table\n"
    "{\"status\":\"initializing\"}; the job is pending until it is applied with a complete one.\n\n"
    "Applying a job again replaces its data. The rank table of a job under test cannot change\n"
    "until the test ends.\n\n"
    "Exit status: 0 applied, 1 refused or coordinator not reached, 75 the table is not ready,\n"
    "128 + N ended by signal N (130: Ctrl-C).\n\n"
    "Examples:\n"
    "  assay job apply train-7 --rank-table hccl.json --framework pytorch\n"
    "  echo '{\"status\":\"initializing\"}' | assay job apply train-8 --rank-table -";

const std::vector<std::string> kStates = {"pending", "running", "complete", "failed"};

void PrintWarnings(const std::string& command, const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) {
    Say(command, "warning: " + base::Shown(warning, 1000));
  }
}

// Returns why the request is too large for a coordinator, "" if it is not.
std::string SizeProblem(const admin::ApplyJobRequest& request) {
  const std::size_t bytes = request.ByteSizeLong();
  if (bytes <= kRequestBytesMax) return "";
  const std::string file = request.source() == "-" ? "standard input" : request.source();
  return file + " has " + std::to_string(request.rank_table().size()) +
         " bytes; with it the request has " + std::to_string(bytes) +
         ", and a coordinator accepts at most " + std::to_string(kRequestBytesMax) +
         " (16 MiB less 64 KiB). Put the table into the coordinator's jobs directory (--jobs-dir) "
         "as ID.json instead, where it may have up to 64 MiB";
}

std::vector<std::string> JobCells(const admin::Job& job) {
  return {job.id(),
          job.state(),
          std::to_string(job.rank_count()),
          std::to_string(job.node_count()),
          job.name(),
          job.namespace_(),
          job.last_run() == 0 ? "-" : std::to_string(job.last_run()),
          TimeText(job.updated_ms())};
}

Table JobTable() {
  using A = Table::Align;
  return Table({{"JOB"},
                {"STATE"},
                {"RANKS", A::kRight},
                {"NODES", A::kRight},
                {"NAME"},
                {"NAMESPACE"},
                {"LAST RUN", A::kRight},
                {"CHANGED (UTC)"}});
}

}  // namespace

int JobApply(Args args) {
  const std::string command = "assay job apply";
  ClientFlags client_flags;
  admin::ApplyJobRequest request;
  std::string file;
  flags::Flags flags(
      command, "Submit a job to the coordinator: which rank runs on which device of which node.",
      kApplyDetails);
  std::string id, name, name_space, framework, state, master, tor;
  client_flags.Declare(&flags);
  flags.Positional("ID", &id, "the job's id, at most 256 bytes")
      .Path("rank-table", &file, "FILE",
            "its rank table (hccl.json), required; - reads standard input")
      .Text("name", &name, "TEXT", "its name, for users and subscribers")
      .Text("namespace", &name_space, "TEXT", "its namespace")
      .Text("framework", &framework, "TEXT", "pytorch, mindspore, ...")
      .Choice("status", &state, kStates,
              "its state (a new job with a ready table: running; a known job: unchanged)")
      .Text("master-addr", &master, "ADDRESS", "MASTER_ADDR of the training")
      .Text("shared-tor-ip", &tor, "ADDRESS", "its shared switch");
  if (const auto status = flags.Parse(std::move(args))) return *status;
  if (file.empty()) return flags.Wrong("--rank-table is missing");

  base::Result<std::string> text = ReadInput(file, rank_table::RankTableLimits().bytes);
  if (!text.ok()) return Fail(command, text.status());
  // Validated here first, so that an error names the file as the user wrote it.
  const rank_table::TableReading reading = rank_table::ReadRankTable(*text, file);
  const bool initializing =
      reading.verdict == rank_table::TableVerdict::kNotReady && !text->empty();
  if (reading.verdict == rank_table::TableVerdict::kReject)
    return Fail(command, base::InvalidError(reading.error));
  request.set_id(id);
  request.set_rank_table(*std::move(text));
  request.set_source(base::ShownEnd(file, 1024));
  request.set_name(name);
  request.set_namespace_(name_space);
  request.set_framework(framework);
  request.set_state(state);
  request.set_master_addr(master);
  request.set_shared_tor_ip(tor);
  if (const std::string problem = SizeProblem(request); !problem.empty()) {
    return Fail(command, base::InvalidError(problem));
  }
  const auto response =
      Client(client_flags.coordinator).Call(&admin::Admin::Stub::PrepareAsyncApplyJob, request);
  if (!response.ok()) {
    const bool not_ready = initializing || reading.verdict == rank_table::TableVerdict::kNotReady;
    const int status = Fail(command, response.status());
    return not_ready && response.status().code() == base::Code::kUnavailable ? kExitNotReady
                                                                             : status;
  }
  PrintWarnings(command, {response->warnings().begin(), response->warnings().end()});
  if (client_flags.json) {
    Json json = JobJson(response->job());
    json["changed"] = response->changed();
    json["warnings"] =
        std::vector<std::string>(response->warnings().begin(), response->warnings().end());
    PrintJson(json);
  } else {
    const admin::Job& job = response->job();
    Print("job " + base::Shown(id) + (response->changed() ? " applied: " : " unchanged: ") +
          base::Count(static_cast<std::size_t>(job.rank_count()), "rank", "ranks") + " on " +
          base::Count(static_cast<std::size_t>(job.node_count()), "node", "nodes") + ", " +
          base::Shown(job.state()) + "\n");
  }
  return flags::kExitOk;
}

int JobStatus(Args args) {
  const std::string command = "assay job status";
  ClientFlags client_flags;
  std::string id, state;
  bool from_input = false;
  flags::Flags flags(
      command, "Set the state of a job, or of many jobs.",
      "With --stdin every line of standard input is \"ID STATE\"; blank lines and # comments are\n"
      "skipped. Lines are sent as they arrive and take effect in order. A wrong line is reported\n"
      "with its number and does not affect the others. If the connection to the coordinator is\n"
      "lost, the command ends and reports from which line on the result is unknown.\n\n"
      "Exit status: 0 set (also if the state was the same before), 1 refused or coordinator not\n"
      "reached, 128 + N ended by signal N (130: Ctrl-C). With --stdin 1 also if a single line\n"
      "failed, and if a signal ended the command, which first reports what was done.\n\n"
      "JSON: {\"id\", \"state\"}; with --stdin {\"set\": 2, \"unchanged\": 0, \"failed\": 0}, and\n"
      "\"unknown_from_line\" if the connection was lost\n\n"
      "Examples:\n"
      "  assay job status train-7 complete\n"
      "  squeue -h -o '%j %T' | my-filter | assay job status --stdin");
  client_flags.Declare(&flags);
  flags.Required(false)
      .Positional("ID", &id, "the job")
      .PositionalChoice("STATE", &state, kStates, "its new state; every change of state is allowed")
      .Switch("stdin", &from_input, "read lines \"ID STATE\" from standard input");
  if (const auto status = flags.Parse(std::move(args))) return *status;
  if (from_input) {
    if (!id.empty()) return flags.Wrong("with --stdin, ID and STATE come from standard input only");
    return SetStatesFromInput(command, client_flags);
  }
  if (id.empty()) return flags.Wrong("ID is missing");
  if (state.empty()) return flags.Wrong("STATE is missing");
  admin::SetJobStateRequest request;
  request.set_id(id);
  request.set_state(state);
  const auto response =
      Client(client_flags.coordinator).Call(&admin::Admin::Stub::PrepareAsyncSetJobState, request);
  if (!response.ok()) return Fail(command, response.status());
  if (client_flags.json) PrintJson(Json{{"id", id}, {"state", state}});
  return flags::kExitOk;
}

int JobDelete(Args args) {
  const std::string command = "assay job delete";
  ClientFlags client_flags;
  std::string id;
  flags::Flags flags(
      command, "Delete a job. Its results stay in the database.",
      "A job under test cannot be deleted; cancel the run first. A job whose file is still\n"
      "in the jobs directory is applied again when that file changes.\n\n"
      "Exit status: 0 deleted, 1 refused or coordinator not reached, 128 + N ended by signal N\n"
      "(130: Ctrl-C).");
  client_flags.Declare(&flags);
  flags.Positional("ID", &id, "the job");
  if (const auto status = flags.Parse(std::move(args))) return *status;
  admin::DeleteJobRequest request;
  request.set_id(id);
  const auto response =
      Client(client_flags.coordinator).Call(&admin::Admin::Stub::PrepareAsyncDeleteJob, request);
  if (!response.ok()) return Fail(command, response.status());
  if (client_flags.json) {
    Json json{{"id", id}, {"deleted", true}};
    if (!response->note().empty()) json["note"] = response->note();
    PrintJson(json);
  } else if (!response->note().empty()) {
    Say(command, response->note());
  }
  return flags::kExitOk;
}

int JobList(Args args) {
  const std::string command = "assay job list";
  ClientFlags client_flags;
  flags::Flags flags(
      command, "List the jobs of the coordinator.",
      "JSON: an array of jobs as `assay job show --json` prints them, without ranks.");
  client_flags.Declare(&flags);
  if (const auto status = flags.Parse(std::move(args))) return *status;
  Client client(client_flags.coordinator);
  Json json = Json::array();
  Table table = JobTable();
  admin::ListJobsRequest request;
  request.set_limit(kPage);
  while (true) {
    const auto page = client.Call(&admin::Admin::Stub::PrepareAsyncListJobs, request);
    if (!page.ok()) return Fail(command, page.status());
    for (const admin::Job& job : page->jobs()) {
      json.push_back(JobJson(job));
      table.Add(JobCells(job));
      request.set_after(job.id());
    }
    if (!page->more() || page->jobs().empty()) break;
  }
  if (client_flags.json) {
    PrintJson(json);
  } else {
    Print(table.Text());
  }
  return flags::kExitOk;
}

int JobShow(Args args) {
  const std::string command = "assay job show";
  ClientFlags client_flags;
  std::string id;
  flags::Flags flags(command, "Show a job and where its ranks run.",
                     "JSON: {\"id\", \"state\", ..., \"ranks\": [{\"rank\": 0, \"node\": \"a\", "
                     "\"device\": 0}, ...]}");
  client_flags.Declare(&flags);
  flags.Positional("ID", &id, "the job");
  if (const auto status = flags.Parse(std::move(args))) return *status;
  admin::GetJobRequest request;
  request.set_id(id);
  const auto job =
      Client(client_flags.coordinator).Call(&admin::Admin::Stub::PrepareAsyncGetJob, request);
  if (!job.ok()) return Fail(command, job.status());
  if (client_flags.json) {
    Json json = JobJson(*job);
    json["ranks"] = RanksJson(*job);
    PrintJson(json);
    return flags::kExitOk;
  }
  Table head = JobTable();
  head.Add(JobCells(*job));
  Print(head.Text());
  if (job->ranks().empty()) return flags::kExitOk;
  Table ranks({{"RANK", Table::Align::kRight}, {"NODE"}, {"DEVICE", Table::Align::kRight}});
  for (const admin::Rank& rank : job->ranks()) {
    ranks.Add({std::to_string(rank.rank()), rank.node(),
               rank.device() < 0 ? "-" : std::to_string(rank.device())});
  }
  Print("\n" + ranks.Text());
  return flags::kExitOk;
}

int JobCheck(Args args) {
  const std::string command = "assay job check";
  bool as_json = false;
  std::string file;
  flags::Flags flags(
      command, "Validate a rank table without a coordinator.",
      "Warnings are printed on standard error.\n\n"
      "Exit status: 0 accepted, 1 rejected, 75 not ready (the file is not complete yet).\n\n"
      "JSON: {\"verdict\": \"accept|accept-warn|not-ready|reject\",\n"
      "       \"ranks\": [{\"rank\": 0, \"node\": \"a\", \"device\": 0}, ...],\n"
      "       \"warnings\": [...], \"error\": \"\"}");
  flags.PositionalPath("FILE", &file, "the rank table; - reads standard input")
      .Switch("json", &as_json, "print one JSON document on standard output");
  if (const auto status = flags.Parse(std::move(args))) return *status;
  const base::Result<std::string> text = ReadInput(file, rank_table::RankTableLimits().bytes + 1);
  if (!text.ok()) return Fail(command, text.status());
  const rank_table::TableReading reading = rank_table::ReadRankTable(*text, file);
  if (as_json) {
    PrintJson(Json{{"verdict", VerdictName(reading.verdict)},
                   {"ranks", RanksJson(reading.table)},
                   {"warnings", reading.table.warnings},
                   {"error", reading.error}});
  } else if (reading.accepted()) {
    Print(std::string(VerdictName(reading.verdict)) + ": " +
          base::Count(reading.table.ranks.size(), "rank", "ranks") + " on " +
          base::Count(reading.table.nodes.size(), "node", "nodes") + "\n");
  }
  PrintWarnings(command, reading.table.warnings);
  if (reading.accepted()) return flags::kExitOk;
  if (!as_json) Say(command, reading.error);
  return reading.verdict == rank_table::TableVerdict::kNotReady ? kExitNotReady
                                                                : flags::kExitFailed;
}

}  // namespace assay::cli

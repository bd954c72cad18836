#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/text.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/results.h"
#include "cli/table.h"

namespace assay::cli {
namespace {

constexpr char kCommand[] = "assay stress";
constexpr auto kPoll = std::chrono::milliseconds(250);
constexpr int kLookMs = 100;  // how often a question to the user checks for Ctrl-C

constexpr char kDetails[] =
    "Runs the test ops on the devices of a job and waits for the result. The executor is chosen\n"
    "when the test is accepted: the job's training agent if one is attached (subscriber), else\n"
    "the agents of its nodes.\n\n"
    "Exit status; the worst outcome decides:\n"
    "  0  every rank is ok\n"
    "  2  a device is faulty\n"
    "  4  a device was left at a changed voltage\n"
    "  3  a rank did not answer before its deadline\n"
    "  5  an op could not run\n"
    "  1  usage, connection or refusal\n\n"
    "Ctrl-C asks whether to cancel the run or leave it (then the status is 1). SIGTERM, SIGHUP\n"
    "and SIGQUIT leave it (128 + the signal's number). The run continues without this command and\n"
    "across restarts of the coordinator; `assay run show RUN` prints its results.\n\n"
    "JSON: as `assay run show --json`; with --check or --detach:\n"
    "{\"run\": 7, \"executor\": \"agent\", \"ops\": [...], \"plan\": [{\"node\", \"executor\", "
    "\"ranks\", \"devices\"}]}\n\n"
    "Examples:\n"
    "  assay stress train-7 --op aic --op p2p\n"
    "  assay stress train-7 --op aic --node worker-3 --executor agent";

// Prints the progress of the run on standard error: on a terminal one line that is redrawn,
// elsewhere one line per change.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) == 1) {}

  void Show(const admin::Run& run) {
    if (quiet_) return;
    std::string text = "run " + std::to_string(run.id()) + " " + run.state() + ": " +
                       std::to_string(run.answered()) + "/" + std::to_string(run.expected()) +
                       " outcomes";
    const std::string bad = NotOkText(run);
    if (!bad.empty()) text += ", " + bad;
    if (terminal_) {
      text += ", " + Elapsed();
      Redraw(base::Shown(text, 200));
      open_ = true;
    } else if (text != last_) {
      Tell(text);
      last_ = text;
    }
  }
  void Say(const std::string& text) {
    Close();
    Tell(text);
  }
  void Close() {
    if (open_) Tell("");
    open_ = false;
  }

 private:
  std::string Elapsed() const {
    const auto passed = std::chrono::steady_clock::now() - began_;
    return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(passed).count()) + " s";
  }

  const bool quiet_;
  const bool terminal_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  bool open_ = false;
  std::string last_;
};

Json PlanJson(const admin::StartRunResponse& started) {
  Json plan = Json::array();
  for (const admin::PlannedNode& node : started.plan()) {
    plan.push_back(
        Json{{"node", node.node()},
             {"executor", node.executor()},
             {"ranks", std::vector<std::int32_t>(node.ranks().begin(), node.ranks().end())},
             {"devices", std::vector<std::int32_t>(node.devices().begin(), node.devices().end())}});
  }
  return Json{{"run", started.run()},
              {"executor", started.executor()},
              {"ops", std::vector<std::string>(started.ops().begin(), started.ops().end())},
              {"plan", plan}};
}

void PrintPlan(const admin::StartRunResponse& started) {
  Table table({{"NODE"},
               {"EXECUTOR"},
               {"RANKS", Table::Align::kRight},
               {"DEVICES", Table::Align::kLeft, 100}});
  for (const admin::PlannedNode& node : started.plan()) {
    std::string devices;
    for (const std::int32_t device : node.devices()) {
      devices += (devices.empty() ? "" : " ") + std::to_string(device);
    }
    table.Add({node.node(), node.executor(), std::to_string(node.ranks_size()), devices});
  }
  Print(table.Text());
}

std::string HowToCancel(std::int64_t run) {
  const std::string number = std::to_string(run);
  return "run " + number + " continues; `assay run cancel " + number + "` cancels it";
}

// Asks the user what to do after Ctrl-C. Returns false if the command is to exit and leave the run
// running.
bool AskWhatNow(Client* client, std::int64_t run, ProgressLine* line) {
  TakeInterrupt();
  line->Close();
  if (isatty(STDIN_FILENO) != 1) {
    line->Say(HowToCancel(run));
    return false;
  }
  char answer = '?';
  while (answer != 'c' && answer != 'l' && answer != 'w') {
    Ask("[c]ancel run " + std::to_string(run) + ", [l]eave it running, or [w]ait? ");
    pollfd wait{STDIN_FILENO, POLLIN, 0};
    while (!Interrupted() && poll(&wait, 1, kLookMs) <= 0) {
    }
    char typed[64] = {};
    // The end of input and another Ctrl-C mean "leave".
    const bool given = !Interrupted() && read(STDIN_FILENO, typed, sizeof typed - 1) > 0;
    answer = given ? typed[0] : 'l';
  }
  if (answer == 'w') return true;
  if (answer == 'c') {
    admin::CancelRunRequest request;
    request.set_run(run);
    const auto response = client->Call(&admin::Admin::Stub::PrepareAsyncCancelRun, request);
    line->Say(response.ok() ? "run " + std::to_string(run) + ": " + response->state()
                            : response.status().text());
    return true;
  }
  line->Say(HowToCancel(run));
  return false;
}

// Waits until the run has ended. Returns no value if the user chose to leave.
base::Result<std::optional<admin::Run>> Await(Client* client, std::int64_t id, ProgressLine* line) {
  admin::GetRunRequest request;
  request.set_run(id);
  bool away = false;
  while (true) {
    const auto response = client->Call(&admin::Admin::Stub::PrepareAsyncGetRun, request);
    if (response.ok()) {
      if (away) line->Say("the coordinator is back");
      away = false;
      line->Show(response->run());
      if (response->run().ended_ms() != 0) return std::optional(response->run());
    } else if (response.status().code() != base::Code::kUnavailable) {
      return response.status();
    } else if (!away && !Interrupted()) {
      // The coordinator may be restarting. The run continues, so keep waiting.
      line->Say(response.status().text() + "; waiting for it, run " + std::to_string(id) +
                " continues");
      away = true;
    }
    if (Interrupted() && !AskWhatNow(client, id, line)) return std::optional<admin::Run>();
    std::this_thread::sleep_for(kPoll);
  }
}

int Finish(Client* client, std::int64_t id, bool as_json) {
  const auto read = ReadRun(client, id);
  if (!read.ok()) return Fail(kCommand, read.status());
  if (as_json) {
    PrintJson(RunWithResultsJson(*read));
    return StressExit(read->run);
  }
  std::vector<admin::Result> bad;
  for (const admin::Result& result : read->results) {
    if (result.code() != 0) bad.push_back(result);
  }
  if (!bad.empty()) Print(ResultTable(bad).Text() + "\n");
  const std::string not_ok = NotOkText(read->run);
  Print("run " + std::to_string(id) + ": " + std::to_string(read->run.by_code(0)) + " of " +
        std::to_string(read->run.expected()) + " outcomes ok" +
        (not_ok.empty() ? "" : ", " + not_ok) + "\n");
  return StressExit(read->run);
}

base::Result<admin::StartRunResponse> Start(Client* client, const admin::StartRunRequest& request) {
  const auto method = &admin::Admin::Stub::PrepareAsyncStartRun;
  if (request.check()) return client->Call(method, request);
  const LastWords words(
      "the run may have been accepted; `assay run list --job=" + base::Shown(request.job(), 256) +
      "` shows it, and `assay run cancel RUN` cancels it");
  return client->Call(method, request);
}

// Waits for the run and prints its results. Returns the exit status.
int Wait(Client* client, std::int64_t run, bool as_json) {
  ProgressLine line(as_json && isatty(STDERR_FILENO) != 1);
  {
    const LastWords words(HowToCancel(run));
    CatchInterrupts();
    const auto ended = Await(client, run, &line);
    line.Close();
    if (!ended.ok()) return Fail(kCommand, ended.status());
    if (!ended->has_value()) return flags::kExitFailed;
  }
  const LastWords words("run " + std::to_string(run) + " has ended; `assay run show " +
                        std::to_string(run) + "` prints its results");
  EndOnSignals(kCommand);
  return Finish(client, run, as_json);
}

}  // namespace

int Stress(Args args) {
  ClientFlags client_flags;
  admin::StartRunRequest request;
  std::string job, executor = "auto";
  std::vector<std::string> ops, nodes;
  bool check = false, detach = false;
  flags::Flags flags(kCommand, "Stress-test the devices of a job.", kDetails);
  client_flags.Declare(&flags);
  flags.Positional("JOB", &job, "the id of the job")
      .Choices("op", &ops, {"aic", "p2p"}, "an op to run; repeat it for several (both)")
      .Texts("node", &nodes, "NAME", "test only this node of the rank table; repeat it for several")
      .Choice("executor", &executor, {"auto", "subscriber", "agent"}, "required executor (auto)")
      .Switch("check", &check, "print which executor would test what; run nothing")
      .Switch("detach", &detach, "do not wait for the result");
  if (const auto status = flags.Parse(std::move(args))) return *status;
  request.set_job(job);
  request.set_executor(executor);
  request.set_check(check);
  for (const std::string& op : ops) request.add_ops(op);
  for (const std::string& node : nodes) request.add_nodes(node);
  Client client(client_flags.coordinator);
  const auto started = Start(&client, request);
  if (!started.ok()) return Fail(kCommand, started.status());
  if (check || detach) {
    if (client_flags.json) {
      PrintJson(PlanJson(*started));
    } else if (check) {
      PrintPlan(*started);
    } else {
      Print("run " + std::to_string(started->run()) + "\n");
    }
    return flags::kExitOk;
  }
  return Wait(&client, started->run(), client_flags.json);
}

}  // namespace assay::cli

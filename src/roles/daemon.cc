#include "roles/daemon.h"

#include <signal.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "agent/agent.h"
#include "base/host_port.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/open_files.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/flags/duration.h"
#include "cli/flags/flags.h"
#include "coordinator/coordinator.h"
#include "driver/driver_table.h"
#include "roles/state_paths.h"

namespace assay::roles {
namespace {

constexpr char kName[] = "assay";

constexpr char kDetails[] = "Commands (see `assay COMMAND --help`):\n";

constexpr char kMore[] =
    "\n`assay --version` prints the version.\n"
    "\nTimes are written with a unit: 200ms, 90s, 5m, 2h. Every flag --some-flag can also be set\n"
    "as the environment variable ASSAY_SOME_FLAG or as the line `some-flag = \"value\"` in the\n"
    "file given with --config. The command line overrides the environment, and the environment\n"
    "overrides the file.\n\n"
    "The state folder is $STATE_DIRECTORY, else /var/lib/assay, else the user's state folder.\n\n"
    "SIGTERM stops a coordinator, or an idle agent, within seconds. An agent that is running a\n"
    "test accepts no more work and waits up to --stop-grace for the current op. A second SIGTERM\n"
    "ends the op, makes the devices safe and reports the results.\n\n"
    "Exit status: 0 stopped on request; 1 a flag is wrong, or the role could not start or stopped\n"
    "unexpectedly.\n\n"
    "Examples:\n"
    "  assay --role=coordinator --listen=0.0.0.0:8899 --insecure\n"
    "  assay --role=agent --coordinator=head:8899\n"
    "  assay --role=coordinator,agent\n";

// A flag of a driver's option, and its value.
struct DriverFlag {
  const driver::OptionSpec* spec;
  std::int64_t number;
  std::string text;
};

std::vector<DriverFlag> DriverFlags() {
  std::vector<DriverFlag> flags;
  for (const driver::DriverEntry* entry : driver::DriverTable()) {
    for (const driver::OptionSpec& spec : entry->options) {
      if (spec.help != nullptr) flags.push_back({&spec, spec.initial, {}});
    }
  }
  return flags;
}

std::vector<std::string> DriverNames() {
  std::vector<std::string> names = {"auto"};
  for (const driver::DriverEntry* entry : driver::DriverTable()) names.emplace_back(entry->name);
  return names;
}

struct Options {
  std::string role;
  std::string log_level = "info";
  std::string job_roles = "CCAgent,DefaultUser1,DefaultUser2,FdAgent";
  std::int64_t subscriptions_max = 10'000;
  std::int64_t subscriber_buffer = std::int64_t{1} << 20;
  coordinator::CoordinatorOptions coordinator;
  agent::AgentOptions agent;
  std::vector<DriverFlag> driver_flags = DriverFlags();
};

std::string Details() {
  std::string text = kDetails;
  for (const cli::Command& command : cli::Commands()) {
    std::string line = "  " + std::string(command.path);
    line.resize(std::max<std::size_t>(line.size() + 2, 18), ' ');
    text += line + std::string(command.summary) + "\n";
  }
  return text + kMore;
}

void DeclareDriverFlags(std::vector<DriverFlag>* driver_flags, cli::flags::Flags* flags) {
  using Type = driver::OptionSpec::Type;
  for (DriverFlag& flag : *driver_flags) {
    const driver::OptionSpec& spec = *flag.spec;
    switch (spec.type) {
      case Type::kNumber:
        flags->Number(spec.name, &flag.number, spec.low, spec.high, spec.help);
        break;
      case Type::kSeconds:
        flags->Seconds(spec.name, &flag.number, spec.help);
        break;
      case Type::kText:
        flags->Text(spec.name, &flag.text, spec.placeholder, spec.help);
        break;
    }
  }
}

void Declare(Options* o, cli::flags::Flags* flags) {
  core::Settings& s = o->coordinator.settings;
  flags->Environment(true)
      .Choice("role", &o->role, {"coordinator", "agent", "coordinator,agent", "agent,coordinator"},
              "role of this process")
      .Choice("log-level", &o->log_level, {"debug", "info", "warn", "error"},
              "lowest level logged to standard error (info)")
      .Group("Coordinator")
      .Text("listen", &o->coordinator.listen, "HOST:PORT",
            "address to serve on (127.0.0.1:8899); port 0 selects a free port")
      .Switch("insecure", &o->coordinator.insecure, "allow unencrypted --listen beyond loopback")
      .Path("db", &o->coordinator.db, "FILE", "database file (assay.db in the state folder)")
      .Path("port-file", &o->coordinator.port_file, "FILE",
            "file that receives host:port once it serves (coordinator.port in the state folder)")
      .Path("jobs-dir", &o->coordinator.jobs_dir, "FOLDER",
            "folder of rank tables: a file ID.json defines the job ID while it exists (none)")
      .Time("aic-deadline", &s.aic_deadline, "time limit of one aic op")
      .Time("p2p-deadline", &s.p2p_deadline, "time limit of one p2p op")
      .Time("start-allowance", &s.start_allowance, "how long to wait for a disconnected executor")
      .Time("kill-grace", &s.kill_grace, "from an op's deadline until its worker is killed")
      .Time("agent-timeout", &s.agent_timeout,
            "an agent silent this long is lost; its name stays reserved as long again")
      .Time("reply-quiet", &s.reply_quiet,
            "minimum time from a training agent's last reply to its job's next notification")
      .Time("result-replay", &s.result_replay, "maximum age of a result sent to a late subscriber")
      .Text("job-roles", &o->job_roles, "ROLE,...",
            "roles that may subscribe to job signals (" + o->job_roles + ")")
      .Time("client-kept", &s.client_kept,
            "how long a subscriber's id stays valid without a stream")
      .Time("deleted-kept", &s.deleted_kept,
            "how long new subscribers receive the deletion of a job")
      .Number("subscriptions-max", &o->subscriptions_max, 1, 1'000'000,
              "job signals: maximum number of streams")
      .Size(
          "subscriber-buffer", &o->subscriber_buffer, 1 << 10, std::int64_t{1} << 30,
          "job signals queued for a slow subscriber; above it only the newest of each job is sent")
      .Time("idle-timeout", &o->coordinator.idle_timeout,
            "close a connection that accepts no data and answers no ping for this long")
      .Group("Agent")
      .Text("coordinator", &o->agent.coordinator, "HOST:PORT",
            "address of the coordinator (127.0.0.1:8899; with both roles: its own)")
      .Text("node", &o->agent.node, "NAME",
            "this node's name as rank tables spell it (the host name)")
      .Path("state-dir", &o->agent.state_dir, "FOLDER",
            "folder for identity and unsent results (agent in the state folder)")
      .Time("stop-grace", &o->agent.stop_grace, "how long SIGTERM waits for the current op")
      .Choice("driver", &o->agent.driver.kind, DriverNames(),
              "driver of the devices under test (auto)");
  DeclareDriverFlags(&o->driver_flags, flags);
}

// Rejects times so short that they alone would decide the result of every test.
base::Status CheckTimes(const core::Settings& settings) {
  constexpr core::Ms kLeast = 100;
  const std::pair<const char*, core::Ms> times[] = {{"aic-deadline", settings.aic_deadline},
                                                    {"p2p-deadline", settings.p2p_deadline},
                                                    {"start-allowance", settings.start_allowance},
                                                    {"agent-timeout", settings.agent_timeout}};
  for (const auto& [flag, ms] : times) {
    if (ms >= kLeast) continue;
    return base::InvalidError("--" + std::string(flag) + ": " + cli::flags::DurationText(ms) +
                              " is too short; the minimum is 100ms");
  }
  return base::Status::Ok();
}

// Parses "a,b" into the set of its names.
base::Result<std::set<std::string, std::less<>>> ParseRoles(const std::string& text) {
  std::set<std::string, std::less<>> roles;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string role = text.substr(begin, end - begin);
    if (const auto problem = base::IdProblem("role", role)) {
      return base::InvalidError("--job-roles: " + *problem +
                                "; write names separated by commas, like CCAgent,DefaultUser1");
    }
    roles.insert(role);
    begin = end + 1;
  }
  return roles;
}

// Validates the options and fills in those that no flag set.
base::Status Complete(Options* o, bool coordinator, bool agent) {
  if (base::Status times = CheckTimes(o->coordinator.settings); !times.ok()) return times;
  auto roles = ParseRoles(o->job_roles);
  if (!roles.ok()) return roles.status();
  o->coordinator.settings.job_roles = *std::move(roles);
  o->coordinator.settings.subscriptions_max = static_cast<std::size_t>(o->subscriptions_max);
  // In addition to the subscriptions: 20,000 streams of stress tests.
  o->coordinator.limits.streams_max =
      std::max(o->coordinator.limits.streams_max, o->subscriptions_max + 20'000);
  o->coordinator.subscriber_buffer = static_cast<std::size_t>(o->subscriber_buffer);
  const bool needs_folder =
      (coordinator && (o->coordinator.db.empty() || o->coordinator.port_file.empty())) ||
      (agent && o->agent.state_dir.empty());
  std::string folder;
  if (needs_folder) {
    base::Result<std::string> found = StateFolder();
    if (!found.ok()) return found.status();
    folder = *found;
  }
  if (o->coordinator.db.empty()) o->coordinator.db = folder + "/assay.db";
  if (o->coordinator.port_file.empty()) o->coordinator.port_file = folder + "/coordinator.port";
  if (o->agent.state_dir.empty()) o->agent.state_dir = folder + "/agent";
  if (o->coordinator.db.find('/') == std::string::npos) o->coordinator.db.insert(0, "./");
  if (agent) {
    if (base::Status made = MakeFolders(o->agent.state_dir); !made.ok()) return made;
  }
  for (const DriverFlag& flag : o->driver_flags) {
    if (flag.spec->type == driver::OptionSpec::Type::kText) {
      o->agent.driver.Set(flag.spec->name, flag.text);
    } else {
      o->agent.driver.Set(flag.spec->name, flag.number);
    }
  }
  return base::Status::Ok();
}

base::LogLevel LevelOf(const std::string& name) {
  if (name == "debug") return base::LogLevel::kDebug;
  if (name == "warn") return base::LogLevel::kWarn;
  if (name == "error") return base::LogLevel::kError;
  return base::LogLevel::kInfo;
}

// Signals that stop the process. Create it before any other thread starts, so that every thread
// inherits the blocked signals.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGTERM);
    sigaddset(&set_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
  }
  // Waits at most `timeout_ms`; returns whether a signal arrived.
  bool Came(int timeout_ms) const {
    struct timespec wait {};
    wait.tv_sec = timeout_ms / 1000;
    wait.tv_nsec = (timeout_ms % 1000) * 1'000'000L;
    return sigtimedwait(&set_, nullptr, &wait) > 0;
  }

 private:
  sigset_t set_{};
};

// Stops the agent after the first signal and returns when it has stopped. Each further signal
// forces the stop.
void StopAgent(agent::Agent* agent, const StopSignals& signals) {
  agent->RequestStop();
  bool forced = false;
  while (!agent->Wait(50)) {
    if (!signals.Came(1)) continue;
    if (!forced)
      base::LogWarn("second stop signal: ending the running tests and making their devices safe");
    forced = true;
    agent->ForceStop();
  }
}

int Serve(Options* options, bool with_coordinator, bool with_agent) {
  const StopSignals signals;
  base::RaiseOpenFilesLimit();
  std::unique_ptr<coordinator::Coordinator> coordinator;
  if (with_coordinator) {
    auto started = coordinator::Coordinator::Start(options->coordinator);
    if (!started.ok()) {
      base::LogError(started.status().text());
      return cli::flags::kExitFailed;
    }
    coordinator = *std::move(started);
    if (options->agent.coordinator.empty()) options->agent.coordinator = coordinator->address();
  }
  if (options->agent.coordinator.empty()) options->agent.coordinator = base::kCoordinatorAddress;
  std::unique_ptr<agent::Agent> agent;
  if (with_agent) {
    auto started = agent::Agent::Start(options->agent);
    if (!started.ok()) {
      base::LogError(started.status().text());
      return cli::flags::kExitFailed;
    }
    agent = *std::move(started);
  }
  while (!signals.Came(1000)) {
    if (agent && agent->Wait(0)) {
      base::LogError("the agent stopped unexpectedly");
      return cli::flags::kExitFailed;
    }
  }
  if (agent) StopAgent(agent.get(), signals);
  if (coordinator) {
    if (base::Status stopped = coordinator->Stop(); !stopped.ok()) base::LogError(stopped.text());
  }
  base::LogInfo("stopped");
  return cli::flags::kExitOk;
}

}  // namespace

int RunDaemon(cli::Args args) {
  Options options;
  cli::flags::Flags flags(kName, "On-demand stress tests for the accelerators of training jobs.",
                          Details());
  Declare(&options, &flags);
  if (const auto status = flags.Parse(std::move(args))) return *status;
  if (options.role.empty()) {
    return flags.Wrong("--role is missing: coordinator, agent or coordinator,agent");
  }
  const bool coordinator = options.role.find("coordinator") != std::string::npos;
  const bool agent = options.role.find("agent") != std::string::npos;
  SetLogLevel(LevelOf(options.log_level));
  // Validates the driver's options, too, before anything starts.
  if (const base::Status status = Complete(&options, coordinator, agent); !status.ok()) {
    return flags.Wrong(status.text());
  }
  if (agent) {
    const auto driver = driver::Make(options.agent.driver);
    if (!driver.ok()) return flags.Wrong(driver.status().text());
  }
  return Serve(&options, coordinator, agent);
}

}  // namespace assay::roles

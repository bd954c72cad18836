#include "cli/dispatch.h"

#include <string>

#include "base/text.h"
#include "base/version.h"
#include "cli/flags/flags.h"
#include "cli/flags/nearest.h"
#include "cli/interrupt.h"
#include "cli/output.h"

namespace assay::cli {
namespace {

int UnknownCommand(const Args& args) {
  std::vector<std::string> known;
  for (const Command& command : Commands()) known.emplace_back(command.path);
  // "job aply" is near "job apply"; "jbo" is near "job".
  std::string said = args[0];
  if (args.size() > 1 && !args[1].starts_with("-")) said += " " + args[1];
  std::optional<std::string> near = flags::Nearest(said, known);
  std::vector<std::string> groups;
  std::string of_group;
  for (const std::string& path : known) {
    const std::string group = path.substr(0, path.find(' '));
    groups.push_back(group);
    if (group == args[0])
      of_group += (of_group.empty() ? "" : ", ") + path.substr(path.find(' ') + 1);
  }
  if (!near) near = flags::Nearest(args[0], groups);
  if (!of_group.empty() && args.size() == 1) {
    Say("assay", args[0] + ": a command is missing: " + of_group);
  } else {
    Say("assay",
        "unknown command " + base::Quoted(said) + (near ? "; did you mean " + *near + "?" : ""));
  }
  Tell("`assay --help` lists the commands");
  return flags::kExitFailed;
}

int Run(Args args, RunRoles run_roles) {
  if (args.empty()) {
    Say("assay", "a role (--role=coordinator, --role=agent) or a command is missing");
    Tell("`assay --help` lists them");
    return flags::kExitFailed;
  }
  if (args[0] == "--version") {
    Print("assay " + std::string(base::Version()) + "\n");
    return flags::kExitOk;
  }
  if (args[0] == "help" && args.size() == 1) args[0] = "--help";
  if (args[0].starts_with("-")) return run_roles(std::move(args));
  for (const Command& command : Commands()) {
    const std::string path(command.path);
    const std::size_t space = path.find(' ');
    const std::size_t words = space == std::string::npos ? 1 : 2;
    if (args.size() < words || args[0] != path.substr(0, space)) continue;
    if (words == 2 && args[1] != path.substr(space + 1)) continue;
    args.erase(args.begin(), args.begin() + static_cast<std::ptrdiff_t>(words));
    EndOnSignals("assay " + path);
    return command.run(std::move(args));
  }
  return UnknownCommand(args);
}

}  // namespace

int Dispatch(Args args, RunRoles run_roles) {
  const int status = Run(std::move(args), run_roles);
  if (FlushOutput()) return status;
  Say("assay", "the output could not be written to standard output");
  return status == flags::kExitOk ? flags::kExitFailed : status;
}

}  // namespace assay::cli

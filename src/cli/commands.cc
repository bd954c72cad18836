#include "cli/commands.h"

#include "cli/watch/watch_command.h"

namespace assay::cli {

const std::vector<Command>& Commands() {
  static const std::vector<Command> commands = {
      {"job apply", "submit a job and its rank table to the coordinator", JobApply},
      {"job status", "set a job's state", JobStatus},
      {"job list", "list the jobs", JobList},
      {"job show", "show a job and where its ranks run", JobShow},
      {"job delete", "delete a job; its results stay", JobDelete},
      {"job check", "validate a rank table without a coordinator", JobCheck},
      {"watch jobs", "watch the states of the jobs", watch::WatchJobs},
      {"stress", "stress-test the devices of a job", Stress},
      {"run list", "list stress tests", RunList},
      {"run show", "show a stress test and its results", RunShow},
      {"run cancel", "cancel a stress test", RunCancel},
      {"node list", "list the nodes", NodeList},
      {"node forget", "forget a node that will not come back", NodeForget},
  };
  return commands;
}

}  // namespace assay::cli

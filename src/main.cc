// One binary: roles, commands, and the worker process an agent makes of itself.

#include "cli/dispatch.h"
#include "cli/worker_command.h"

int main(int argc, char** argv) {
  // A worker starts in milliseconds and touches nothing of the rest.
  if (const auto status = assay::RunIfWorker(argc, argv)) return *status;
  return assay::Dispatch(assay::Args(argv + 1, argv + argc));
}

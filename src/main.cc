// One binary: roles, commands, and the worker process an agent makes of itself.

#include "cli/dispatch.h"
#include "cli/standard_streams.h"
#include "roles/daemon.h"
#include "roles/worker_command.h"

namespace {

// Called before the initialization of any library (ELF's .preinit_array).
__attribute__((section(".preinit_array"),
               used)) void (*const kFillStandardStreams)() = assay::FillStandardStreams;

}  // namespace

int main(int argc, char** argv) {
  // A worker starts in milliseconds and touches nothing of the rest.
  if (const auto status = assay::RunIfWorker(argc, argv)) return *status;
  return assay::Dispatch(assay::Args(argv + 1, argv + argc), assay::RunDaemon);
}

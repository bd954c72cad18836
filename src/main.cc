// Entry point of the one binary: roles, commands, and the worker process that an agent starts from
// this same binary.

#include "cli/dispatch.h"
#include "cli/standard_streams.h"
#include "roles/daemon.h"
#include "roles/worker_command.h"

namespace {

// Runs before the initialization of any library (ELF .preinit_array).
__attribute__((section(".preinit_array"),
               used)) void (*const kFillStandardStreams)() = assay::cli::FillStandardStreams;

}  // namespace

int main(int argc, char** argv) {
  // Checked first: a worker starts within milliseconds and uses none of the code below.
  if (const auto status = assay::roles::RunIfWorker(argc, argv)) return *status;
  return assay::cli::Dispatch(assay::cli::Args(argv + 1, argv + argc), assay::roles::RunDaemon);
}

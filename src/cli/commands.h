// The commands of the program and the functions that run them.
//
// `args` are the arguments after the command's own words. Each function returns the exit status.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::cli {

using Args = std::vector<std::string>;

struct Command {
  std::string_view path;  // "job apply"
  std::string_view summary;
  int (*run)(Args args);
};
// In the order of --help.
const std::vector<Command>& Commands();

int JobApply(Args args);
int JobStatus(Args args);
int JobList(Args args);
int JobShow(Args args);
int JobDelete(Args args);
int JobCheck(Args args);
int Stress(Args args);
int RunList(Args args);
int RunShow(Args args);
int RunCancel(Args args);
int NodeList(Args args);
int NodeForget(Args args);

}  // namespace assay::cli

#include "agent/state_folder.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace assay::agent {
namespace {

std::string Shown(const std::string& path) { return base::ShownEnd(path, 200); }

base::Status CannotUse(const std::string& path, const std::string& why) {
  return base::UnavailableError("cannot use the state folder " + Shown(path) + ": " + why +
                                "; set --state-dir to a folder that this user can write");
}

}  // namespace

base::Result<StateFolder> StateFolder::Take(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos) {
    return base::InvalidError("--state-dir is empty or contains a NUL byte");
  }
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return CannotUse(path, error.message());
  base::Result<base::FileLock> lock = base::FileLock::Take(path + "/agent");
  if (lock.ok()) return StateFolder(path, std::move(lock).value());
  if (lock.status().code() != base::Code::kConflict) return CannotUse(path, lock.status().text());
  return base::ConflictError("the state folder " + Shown(path) + " is in use by another agent (" +
                             lock.status().text() +
                             "); stop that agent, or give this one another --state-dir");
}

}  // namespace assay::agent

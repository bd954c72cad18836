#include "roles/state_paths.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/text.h"

namespace assay::roles {
namespace {

constexpr char kSystemFolder[] = "/var/lib/assay";

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool IsFolder(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace

base::Status MakeFolders(const std::string& folder) {
  for (std::size_t end = 1; end <= folder.size(); ++end) {
    if (end < folder.size() && folder[end] != '/') continue;
    const std::string part = folder.substr(0, end);
    if (mkdir(part.c_str(), 0755) == 0) continue;
    const int error = errno;
    if (IsFolder(part)) continue;
    return base::UnavailableError("cannot create the folder " + base::ShownEnd(part, 200) + ": " +
                                  std::strerror(error));
  }
  return base::Status::Ok();
}

base::Result<std::string> StateFolder() {
  // systemd may set several paths, separated by colons. The first one is used.
  const std::string given = Environment("STATE_DIRECTORY");
  if (!given.empty()) return given.substr(0, given.find(':'));
  if (MakeFolders(kSystemFolder).ok() && access(kSystemFolder, W_OK) == 0) {
    return std::string(kSystemFolder);
  }
  std::string folder = Environment("XDG_STATE_HOME");
  if (folder.empty()) {
    const std::string home = Environment("HOME");
    if (home.empty()) {
      return base::NotFoundError(
          "no folder for state: /var/lib/assay is not writable and HOME is not set; name one with "
          "--db and --port-file (coordinator) or --state-dir (agent)");
    }
    folder = home + "/.local/state";
  }
  folder += "/assay";
  if (base::Status made = MakeFolders(folder); !made.ok()) return made;
  return folder;
}

}  // namespace assay::roles

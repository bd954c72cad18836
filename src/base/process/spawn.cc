#include "base/process/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace assay::base::process {
namespace {

// The pipe descriptors that become the child's are numbered from here up, above the child's own
// numbers, so that dup2 in the child never closes one that is still needed.
constexpr int kAboveChild = 10;

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

int MakePipe(Pipe* made) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  const UniqueFd low_read(ends[0]);
  const UniqueFd low_write(ends[1]);
  made->read = UniqueFd(fcntl(ends[0], F_DUPFD_CLOEXEC, kAboveChild));
  if (!made->read.valid()) return errno;
  made->write = UniqueFd(fcntl(ends[1], F_DUPFD_CLOEXEC, kAboveChild));
  return made->write.valid() ? 0 : errno;
}

int DoNotBlock(const UniqueFd& fd) {
  const int flags = fcntl(fd.get(), F_GETFL);
  return flags >= 0 && fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) == 0 ? 0 : errno;
}

std::string_view NameOf(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

// This process's environment, with the variables of `added` added or replaced.
std::vector<char*> Environment(const std::vector<std::string>& added) {
  std::vector<char*> out;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const bool replaced = std::any_of(added.begin(), added.end(), [&](const std::string& variable) {
      return NameOf(variable) == NameOf(*at);
    });
    if (!replaced) out.push_back(*at);
  }
  for (const std::string& variable : added) out.push_back(const_cast<char*>(variable.c_str()));
  out.push_back(nullptr);
  return out;
}

// Owns the file actions and attributes for posix_spawn.
class ChildSetup {
 public:
  ChildSetup() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
  }
  ChildSetup(const ChildSetup&) = delete;
  ChildSetup& operator=(const ChildSetup&) = delete;
  ~ChildSetup() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }

  // Returns 0 or an errno value.
  int Describe(const Pipe& to, const Pipe& from, const Pipe& capture) {
    sigset_t all;
    sigset_t none;
    sigfillset(&all);
    sigemptyset(&none);
    const int steps[] = {
        posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0),
        posix_spawn_file_actions_adddup2(&actions_, capture.write.get(), STDOUT_FILENO),
        posix_spawn_file_actions_adddup2(&actions_, capture.write.get(), STDERR_FILENO),
        posix_spawn_file_actions_adddup2(&actions_, to.read.get(), kChildIn),
        posix_spawn_file_actions_adddup2(&actions_, from.write.get(), kChildOut),
        // Assay's own descriptors are close-on-exec; those of libraries may not be.
        posix_spawn_file_actions_addclosefrom_np(&actions_, kChildOut + 1),
        posix_spawnattr_setsigdefault(&attributes_, &all),
        posix_spawnattr_setsigmask(&attributes_, &none),
        posix_spawnattr_setflags(
            &attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID),
    };
    for (int step : steps) {
      if (step != 0) return step;
    }
    return 0;
  }

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

// The oldest supported glibc has no wrapper for this system call.
int OpenPidfd(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

}  // namespace

Result<SpawnedProcess> Spawn(const std::string& program, const std::vector<std::string>& args,
                             const std::vector<std::string>& env) {
  const auto error = [&](const char* step, int number) {
    return UnavailableError("cannot start worker " + program + ": " + step + ": " +
                            std::strerror(number));
  };
  Pipe to;
  Pipe from;
  Pipe capture;
  for (Pipe* each : {&to, &from, &capture}) {
    if (const int failed = MakePipe(each)) return error("pipe", failed);
  }
  for (const UniqueFd* ours : {&to.write, &from.read, &capture.read}) {
    if (const int failed = DoNotBlock(*ours)) return error("fcntl", failed);
  }
  ChildSetup setup;
  if (const int failed = setup.Describe(to, from, capture)) return error("posix_spawn", failed);

  std::string name = "assay";
  std::vector<char*> argv = {name.data()};
  for (const std::string& arg : args) argv.push_back(const_cast<char*>(arg.c_str()));
  argv.push_back(nullptr);
  const std::vector<char*> environment = Environment(env);
  SpawnedProcess spawned;
  if (const int failed = posix_spawn(&spawned.pid, program.c_str(), setup.actions(),
                                     setup.attributes(), argv.data(), environment.data())) {
    return error("exec", failed);
  }
  spawned.pidfd = UniqueFd(OpenPidfd(spawned.pid));
  if (!spawned.pidfd.valid()) {
    const int failed = errno;
    kill(spawned.pid, SIGKILL);
    waitpid(spawned.pid, nullptr, 0);
    return error("pidfd_open (Linux 5.4 or later is needed)", failed);
  }
  spawned.to = std::move(to.write);
  spawned.from = std::move(from.read);
  spawned.capture = std::move(capture.read);
  return spawned;
}

}  // namespace assay::base::process

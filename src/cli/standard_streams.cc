#include "cli/standard_streams.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

// The sanitizers are not initialized when it runs.
#define ASSAY_EARLY __attribute__((no_sanitize("address"), no_sanitize("thread")))

namespace assay::cli {

ASSAY_EARLY void FillStandardStreams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (syscall(SYS_fcntl, fd, F_GETFD) != -1) continue;
    // openat() returns the lowest free number. That is `fd`, because all below it are open.
    const int wrong_way = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (syscall(SYS_openat, AT_FDCWD, "/dev/null", wrong_way) != fd) syscall(SYS_exit_group, 1);
  }
}

}  // namespace assay::cli

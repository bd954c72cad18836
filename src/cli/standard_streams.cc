#include "cli/standard_streams.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

// A sanitizer is not ready that early.
#define ASSAY_EARLY __attribute__((no_sanitize("address"), no_sanitize("thread")))

namespace assay {

ASSAY_EARLY void FillStandardStreams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (syscall(SYS_fcntl, fd, F_GETFD) != -1) continue;
    // The lowest number that is free: those below are taken.
    const int wrong_way = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (syscall(SYS_openat, AT_FDCWD, "/dev/null", wrong_way) != fd) syscall(SYS_exit_group, 1);
  }
}

}  // namespace assay

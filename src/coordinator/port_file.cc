#include "coordinator/port_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/unique_fd.h"

namespace assay::coordinator {

base::Status WritePortFile(const std::string& file, const std::string& address) {
  const std::string beside = file + ".new." + std::to_string(getpid());
  const std::string line = address + "\n";
  base::UniqueFd fd(open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  int error = fd.valid() ? 0 : errno;
  if (fd.valid()) {
    const ssize_t written = write(fd.get(), line.data(), line.size());
    if (written != static_cast<ssize_t>(line.size())) error = written < 0 ? errno : ENOSPC;
    fd.Reset();
    if (error == 0 && std::rename(beside.c_str(), file.c_str()) != 0) error = errno;
    if (error != 0) unlink(beside.c_str());
  }
  if (error == 0) return base::Status::Ok();
  return base::InvalidError("cannot write the port file " + file + ": " + std::strerror(error));
}

}  // namespace assay::coordinator

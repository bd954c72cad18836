// Descriptors, locks and reading: unique_fd.h, file_lock.h, read_file.h, open_files.h.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "base/file_lock.h"
#include "base/open_files.h"
#include "base/read_file.h"
#include "base/unique_fd.h"
#include "tests/support/temp_dir.h"

namespace assay::base {
namespace {

bool IsOpen(int fd) { return fcntl(fd, F_GETFD) >= 0; }
int OpenNull() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

TEST_CASE("UniqueFd closes its descriptor exactly once") {
  int first = -1;
  int second = -1;
  {
    UniqueFd a(OpenNull());
    UniqueFd b(OpenNull());
    first = a.get();
    second = b.get();
    REQUIRE((a.valid() && b.valid()));
    a = std::move(b);
    CHECK_FALSE(IsOpen(first));
    CHECK(a.get() == second);
    CHECK_FALSE(b.valid());  // NOLINT: a moved-from UniqueFd owns nothing
    UniqueFd c(std::move(a));
    CHECK(IsOpen(second));
    CHECK(c.get() == second);
  }
  CHECK_FALSE(IsOpen(second));
  UniqueFd released(OpenNull());
  const int fd = released.Release();
  CHECK_FALSE(released.valid());
  released.Reset();
  CHECK(IsOpen(fd));
  close(fd);
  CHECK_FALSE(UniqueFd(-1).valid());
}

TEST_CASE("one process at a time holds a file lock, and the other one learns which") {
  const support::TempDir dir;
  const std::string file = dir / "thing";
  {
    const Result<FileLock> lock = FileLock::Take(file);
    REQUIRE(lock.ok());
    // flock() locks belong to the open file, so a second descriptor of this process conflicts too.
    const Result<FileLock> second = FileLock::Take(file);
    REQUIRE_FALSE(second.ok());
    CHECK(second.status().code() == Code::kConflict);
    CHECK(second.status().text() == "process " + std::to_string(getpid()));
    std::ofstream(file + ".lock", std::ios::trunc) << "not a number";
    CHECK(FileLock::Take(file).status().text() == "another process");
  }
  CHECK(FileLock::Take(file).ok());
  CHECK(access((file + ".lock").c_str(), F_OK) == 0);
}

TEST_CASE("a file lock that cannot be created is an error that names the file") {
  const Result<FileLock> lock = FileLock::Take("/nonexistent/thing");
  REQUIRE_FALSE(lock.ok());
  CHECK(lock.status().code() == Code::kUnavailable);
  CHECK(lock.status().text() == "/nonexistent/thing.lock: No such file or directory");
}

TEST_CASE("ReadToEnd reads a whole file, or one byte more than the limit") {
  const support::TempDir dir;
  const std::string path = dir / "file";
  const std::string content(200'000, 'x');
  std::ofstream(path) << content;
  const auto read = [&](std::size_t max, std::string text = "") {
    const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    CHECK(ReadToEnd(fd.get(), max, &text) == 0);
    return text;
  };
  CHECK(read(std::string::npos) == content);
  CHECK(read(200'000) == content);
  CHECK(read(199'999).size() == 200'000);
  CHECK(read(10).size() == 11);
  CHECK(read(0).size() == 1);
  CHECK(read(200'002, "ab") == "ab" + content);
  std::string text;
  const UniqueFd folder(open(dir.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  CHECK(ReadToEnd(folder.get(), 10, &text) == EISDIR);
}

TEST_CASE("the limit on open files is raised to the hard limit") {
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit narrow = before;
  narrow.rlim_cur = 64;
  REQUIRE(setrlimit(RLIMIT_NOFILE, &narrow) == 0);
  CHECK(OpenFilesLimit() == 64);
  RaiseOpenFilesLimit();
  const std::uint64_t hard = before.rlim_max == RLIM_INFINITY ? kNoOpenFilesLimit : before.rlim_max;
  CHECK(OpenFilesLimit() == hard);
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
}

}  // namespace
}  // namespace assay::base

// The buffer of a host device as its peers have it: in processes of their own, and not writable.
#include "driver/host/shared_buffer.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "driver/driver.h"

namespace assay::driver {

using namespace host;

namespace {

class Nobody : public Progress {
 public:
  void Report(std::int32_t, std::string_view) override {}
};

// The path of the file that the token "host-buffer PID FD SEED" names.
std::string PathOf(const std::string& token) {
  const std::size_t pid = token.find(' ') + 1;
  const std::size_t fd = token.find(' ', pid) + 1;
  return "/proc/" + token.substr(pid, fd - 1 - pid) + "/fd/" +
         token.substr(fd, token.find(' ', fd) - fd);
}

// A pipe of lines: tokens and details contain no line break.
class Lines {
 public:
  Lines() { REQUIRE(pipe(ends_.data()) == 0); }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  ~Lines() {
    for (const int end : ends_)
      if (end >= 0) close(end);
  }
  // From then on Take() returns, perhaps without a line, when the other writers have exited.
  void CloseWriter() {
    close(ends_[1]);
    ends_[1] = -1;
  }
  void Put(const std::string& line) const {
    const std::string text = line + '\n';
    if (write(ends_[1], text.data(), text.size()) != static_cast<ssize_t>(text.size())) _exit(1);
  }
  std::string Take() const {
    std::string line;
    for (char next = 0; read(ends_[0], &next, 1) == 1 && next != '\n';) line += next;
    return line;
  }

 private:
  std::array<int, 2> ends_{};
};

// A member of a p2p test, in a process of its own: sends its blob or an error to `from`, receives
// all blobs from `to`, and sends its outcome's detail to `from`.
void RunMember(const P2pGroup& group, const Lines& to, const Lines& from) {
  alarm(60);  // ends the process if another does not answer
  Options options;
  options.kind = "host";
  options.Set("host-devices", 2);
  options.Set("host-seconds", 50);
  const auto driver = *Make(options);
  const auto device = *driver->Open(group.self);
  const base::Result<std::string> blob = device->PrepareP2p(group);
  from.Put(blob.ok() ? *blob : blob.status().text());
  std::vector<std::string> blobs;
  for (std::size_t i = 0; i < group.members.size(); ++i) blobs.push_back(to.Take());
  Nobody nobody;
  const OpReport report = device->RunP2p(group, blobs, &nobody);
  from.Put(report.code == core::OutcomeCode::kOk ? "ok" : report.detail);
  to.Take();  // until every member has its outcome
}

}  // namespace

TEST_CASE("a peer cannot write to the source of a device") {
  base::Result<SharedBuffer> own = SharedBuffer::Create(3, 0);
  REQUIRE(own.ok());
  std::memset(own->writable_source(), 0x5A, kSourceBytes);
  base::Result<SharedBuffer> peer = SharedBuffer::OpenPeer(own->token(), 3, 0, 1);
  REQUIRE(peer.ok());
  char* const source = const_cast<char*>(peer->source());
  CHECK(source[kSourceBytes - 1] == 0x5A);

  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    *static_cast<volatile char*>(source) = 1;
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGSEGV);

  CHECK(mprotect(source, kPageBytes, PROT_READ | PROT_WRITE) != 0);
  CHECK(errno == EACCES);
  const int fd = open(PathOf(own->token()).c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(fd >= 0);
  CHECK(pwrite(fd, "x", 1, kPageBytes) < 0);
  CHECK(errno == EPERM);
  CHECK(mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
  CHECK(errno == EPERM);
  close(fd);
  CHECK(own->source()[0] == 0x5A);
}

TEST_CASE("each peer writes to a slot of its own") {
  base::Result<SharedBuffer> own = SharedBuffer::Create(3, 1);
  REQUIRE(own.ok());
  base::Result<SharedBuffer> first = SharedBuffer::OpenPeer(own->token(), 3, 1, 0);
  base::Result<SharedBuffer> second = SharedBuffer::OpenPeer(own->token(), 3, 1, 2);
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  std::memset(first->slot(), 1, SlotBytes(3));
  std::memset(second->slot(), 2, SlotBytes(3));
  CHECK(std::string(first->slot(), SlotBytes(3)) == std::string(SlotBytes(3), 1));
  CHECK(std::string(second->slot(), SlotBytes(3)) == std::string(SlotBytes(3), 2));
}

// host_user_test.py also runs this test alone, as another user.
TEST_CASE("a p2p test between processes") {
  const std::vector<GroupMember> members = {{100, 0}, {101, 1}};
  const std::array<Lines, 2> to;
  std::array<Lines, 2> from;
  std::array<pid_t, 2> children{};
  for (std::size_t i = 0; i < children.size(); ++i) {
    children[i] = fork();
    REQUIRE(children[i] >= 0);
    if (children[i] != 0) continue;
    RunMember({members, static_cast<std::int32_t>(i)}, to[i], from[i]);
    _exit(0);
  }
  for (Lines& each : from) each.CloseWriter();
  const std::vector<std::string> blobs = {from[0].Take(), from[1].Take()};
  for (const Lines& each : to) {
    for (const std::string& blob : blobs) each.Put(blob);
  }
  for (const Lines& each : from) CHECK(each.Take() == "ok");
  for (const Lines& each : to) each.Put("");
  for (const pid_t child : children) {
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
}

}  // namespace assay::driver

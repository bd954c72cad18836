#include "driver/host/shared_buffer.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/text.h"

namespace assay::driver::host {
namespace {

constexpr std::uint64_t kMagic = 0x32503250'79617373;
constexpr std::string_view kTokenName = "host-buffer";
// The sizes are final. The kernel adds F_SEAL_EXEC to a file that cannot be executed.
constexpr int kSlotsSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
// And no process can map the file for writing, or write to it, any more.
constexpr int kSourceSeals = kSlotsSeals | F_SEAL_FUTURE_WRITE;
// The oldest supported glibc does not have it.
constexpr unsigned kMfdNoexecSeal = 0x0008;

struct Header {
  std::uint64_t magic;
  std::uint64_t seed;
  std::uint64_t members;
  std::uint64_t owner;
  std::uint64_t slots_fd;  // in the owner
};
static_assert(sizeof(Header) <= kPageBytes);
static_assert(kMembersMax <= kPageBytes);                   // a byte for each
static_assert(std::atomic_ref<char>::is_always_lock_free);  // needed between processes

constexpr std::size_t kSourceFileBytes = kPageBytes + kSourceBytes;

std::size_t SlotsFileBytes(std::size_t members) {
  return kPageBytes + (members - 1) * SlotBytes(members);
}

// Where in the file the slot of `peer` is. REQUIRES: peer is not the owner.
std::size_t SlotBegin(std::size_t members, std::size_t owner, std::size_t peer) {
  return kPageBytes + (peer < owner ? peer : peer - 1) * SlotBytes(members);
}

std::string ErrnoText() { return std::strerror(errno); }

// "host-buffer PID FD SEED"
struct Token {
  std::int32_t pid = 0;
  std::int32_t fd = 0;
  std::uint64_t seed = 0;
};

std::string TextOf(const Token& token) {
  return std::string(kTokenName) + ' ' + std::to_string(token.pid) + ' ' +
         std::to_string(token.fd) + ' ' + std::to_string(token.seed);
}

bool ParseToken(std::string_view text, Token* token) {
  const auto number = [&text](auto* out) {
    if (text.empty() || text.front() != ' ') return false;
    text.remove_prefix(1);
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), *out);
    if (parsed.ec != std::errc()) return false;
    text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
    return true;
  };
  if (text.substr(0, kTokenName.size()) != kTokenName) return false;
  text.remove_prefix(kTokenName.size());
  return number(&token->pid) && number(&token->fd) && number(&token->seed) && text.empty() &&
         token->pid > 0 && token->fd >= 0;
}

// An anonymous file without permission to execute: a system can be set to refuse others
// (vm.memfd_noexec). Kernels before 6.3 do not know the flag.
base::UniqueFd CreateFile(const char* name) {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  base::UniqueFd fd(memfd_create(name, kFlags | kMfdNoexecSeal));
  if (fd.get() < 0 && errno == EINVAL) fd = base::UniqueFd(memfd_create(name, kFlags));
  return fd;
}

// Opens descriptor `number` of process `pid`, if it is a file of that size with those seals.
base::Result<base::UniqueFd> OpenFile(std::int32_t pid, std::uint64_t number, int mode,
                                      std::size_t bytes, int seals) {
  const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(number);
  // Non-blocking: a descriptor number that has been reused may name a pipe now.
  base::UniqueFd fd(open(path.c_str(), mode | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) return base::UnavailableError("cannot open " + path + ": " + ErrnoText());
  struct stat about {};
  if (fstat(fd.get(), &about) != 0 || !S_ISREG(about.st_mode) ||
      about.st_size != static_cast<off_t>(bytes)) {
    return base::UnavailableError(path + " is no longer a p2p buffer (has its process ended?)");
  }
  const int found = fcntl(fd.get(), F_GET_SEALS);
  if (found < 0 || (found & seals) != seals) {
    return base::UnavailableError(path + " is no longer a p2p buffer (has its process ended?)");
  }
  return fd;
}

}  // namespace

std::size_t SlotBytes(std::size_t members) {
  return std::max(kSourceBytes / (members - 1) / kPageBytes, std::size_t{1}) * kPageBytes;
}

Mapping::Mapping(int fd, std::size_t begin, std::size_t bytes, Access access) : bytes_(bytes) {
  const int protection = access == Access::kRead ? PROT_READ : PROT_READ | PROT_WRITE;
  void* at = mmap(nullptr, bytes, protection, MAP_SHARED, fd, static_cast<off_t>(begin));
  if (at != MAP_FAILED) data_ = static_cast<char*>(at);
}
Mapping::~Mapping() {
  if (data_ != nullptr) munmap(data_, bytes_);
}
Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

base::Result<SharedBuffer> SharedBuffer::Create(std::size_t members, std::size_t owner) {
  const std::size_t slots_bytes = SlotsFileBytes(members);
  const auto error = [&](const char* what) {
    return base::ExhaustedError("a buffer of " +
                                std::to_string((kSourceFileBytes + slots_bytes) >> 20) +
                                " MiB for the p2p test: " + what + ": " + ErrnoText());
  };
  // Peers open the files through this process's /proc entry, which belongs to root if the user may
  // execute the program but not read it (mode 0711). The user may read the memory all the same.
  prctl(PR_SET_DUMPABLE, 1);
  SharedBuffer buffer;
  buffer.source_fd_ = CreateFile("assay-p2p-source");
  buffer.slots_fd_ = CreateFile("assay-p2p-slots");
  if (buffer.source_fd_.get() < 0 || buffer.slots_fd_.get() < 0) return error("memfd_create");
  const struct {
    int fd;
    std::size_t bytes;
  } files[] = {{buffer.source_fd_.get(), kSourceFileBytes}, {buffer.slots_fd_.get(), slots_bytes}};
  for (const auto& file : files) {
    // Reserve the memory now: running out of it later would raise a signal instead of an error.
    const int reserved = posix_fallocate(file.fd, 0, static_cast<off_t>(file.bytes));
    if (reserved == 0) continue;
    errno = reserved;
    return error("reserving memory");
  }
  // Before the seal, which forbids later mappings for writing.
  buffer.source_ =
      Mapping(buffer.source_fd_.get(), 0, kSourceFileBytes, Mapping::Access::kReadWrite);
  buffer.opened_by_ = Mapping(buffer.slots_fd_.get(), 0, kPageBytes, Mapping::Access::kRead);
  if (buffer.source_.data() == nullptr || buffer.opened_by_.data() == nullptr) return error("mmap");
  if (fcntl(buffer.source_fd_.get(), F_ADD_SEALS, kSourceSeals) != 0 ||
      fcntl(buffer.slots_fd_.get(), F_ADD_SEALS, kSlotsSeals) != 0) {
    return error("sealing its files");
  }
  if (getrandom(&buffer.seed_, sizeof buffer.seed_, 0) != sizeof buffer.seed_) {
    return error("getrandom");
  }
  buffer.members_ = members;
  buffer.owner_ = owner;
  buffer.token_ = TextOf({getpid(), buffer.source_fd_.get(), buffer.seed_});
  const Header header{kMagic, buffer.seed_, members, owner,
                      static_cast<std::uint64_t>(buffer.slots_fd_.get())};
  std::memcpy(buffer.source_.data(), &header, sizeof header);
  return buffer;
}

base::Result<SharedBuffer> SharedBuffer::OpenPeer(std::string_view text, std::size_t members,
                                                  std::size_t owner, std::size_t opener) {
  Token token;
  if (!ParseToken(text, &token)) {
    return base::InvalidError("'" + base::Printable(text, 60) + "' does not name a buffer");
  }
  const auto error = [&](const char* what) {
    return base::ExhaustedError("cannot map the " + std::string(what) + " of process " +
                                std::to_string(token.pid) + ": " + ErrnoText());
  };
  const base::Result<base::UniqueFd> source = OpenFile(
      token.pid, static_cast<std::uint64_t>(token.fd), O_RDONLY, kSourceFileBytes, kSourceSeals);
  if (!source.ok()) return source.status();
  SharedBuffer buffer;
  buffer.source_ = Mapping(source->get(), 0, kSourceFileBytes, Mapping::Access::kRead);
  if (buffer.source_.data() == nullptr) return error("source");
  Header header;
  std::memcpy(&header, buffer.source_.data(), sizeof header);
  if (header.magic != kMagic || header.seed != token.seed || header.members != members ||
      header.owner != owner) {
    return base::UnavailableError("process " + std::to_string(token.pid) +
                                  " has a different p2p buffer (has the named process ended?)");
  }
  const base::Result<base::UniqueFd> slots =
      OpenFile(token.pid, header.slots_fd, O_RDWR, SlotsFileBytes(members), kSlotsSeals);
  if (!slots.ok()) return slots.status();
  buffer.opened_by_ = Mapping(slots->get(), 0, kPageBytes, Mapping::Access::kReadWrite);
  buffer.slot_ = Mapping(slots->get(), SlotBegin(members, owner, opener), SlotBytes(members),
                         Mapping::Access::kReadWrite);
  if (buffer.opened_by_.data() == nullptr || buffer.slot_.data() == nullptr) return error("slots");
  buffer.members_ = members;
  buffer.owner_ = owner;
  buffer.seed_ = token.seed;
  buffer.token_ = text;
  // Relaxed: the byte only reports that this process has mapped the memory; it publishes no data.
  std::atomic_ref<char>(buffer.opened_by_.data()[opener]).store(1, std::memory_order_relaxed);
  return buffer;
}

bool SharedBuffer::OpenedOrGone(const std::vector<std::string>& tokens) const {
  for (std::size_t i = 0; i < members_; ++i) {
    if (i == owner_) continue;
    if (std::atomic_ref<char>(opened_by_.data()[i]).load(std::memory_order_relaxed) != 0) continue;
    Token token;
    if (!ParseToken(tokens[i], &token)) continue;
    if (kill(token.pid, 0) == 0 || errno != ESRCH) return false;
  }
  return true;
}

}  // namespace assay::driver::host

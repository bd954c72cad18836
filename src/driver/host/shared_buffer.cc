#include "driver/host/shared_buffer.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
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

constexpr std::uint64_t kMagic = 0x31503250'79617373;
constexpr std::string_view kTokenName = "host-buffer";
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

struct Header {
  std::uint64_t magic;
  std::uint64_t seed;
  std::uint64_t members;
  std::uint64_t owner;
  bool operator==(const Header&) const = default;
};
constexpr std::size_t kOpenedByAt = 1024;  // in the header's page
static_assert(sizeof(Header) <= kOpenedByAt && kOpenedByAt + kMembersMax <= kPageBytes);
static_assert(std::atomic_ref<char>::is_always_lock_free);  // needed between processes

std::size_t BufferBytes(std::size_t members) {
  return kPageBytes + kSourceBytes + (members - 1) * SlotBytes(members);
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

}  // namespace

std::size_t SlotBytes(std::size_t members) {
  return std::max(kSourceBytes / (members - 1) / kPageBytes, std::size_t{1}) * kPageBytes;
}

Mapping::Mapping(int fd, std::size_t bytes) : bytes_(bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
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
  const std::size_t bytes = BufferBytes(members);
  const auto error = [&](const char* what) {
    return base::ExhaustedError("a buffer of " + std::to_string(bytes >> 20) +
                                " MiB for the p2p test: " + what + ": " + ErrnoText());
  };
  base::UniqueFd fd(memfd_create("assay-p2p", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return error("memfd_create");
  // Reserve the memory now: running out of it later would raise a signal instead of an error.
  const int reserved = posix_fallocate(fd.get(), 0, static_cast<off_t>(bytes));
  if (reserved != 0) {
    errno = reserved;
    return error("reserving memory");
  }
  if (fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) return error("sealing its size");

  SharedBuffer buffer;
  buffer.mapping_ = Mapping(fd.get(), bytes);
  if (buffer.mapping_.data() == nullptr) return error("mmap");
  if (getrandom(&buffer.seed_, sizeof buffer.seed_, 0) != sizeof buffer.seed_) {
    return error("getrandom");
  }
  buffer.members_ = members;
  buffer.owner_ = owner;
  buffer.slot_bytes_ = SlotBytes(members);
  buffer.token_ = TextOf({getpid(), fd.get(), buffer.seed_});
  const Header header{kMagic, buffer.seed_, members, owner};
  std::memcpy(buffer.mapping_.data(), &header, sizeof header);
  buffer.fd_ = std::move(fd);
  return buffer;
}

base::Result<SharedBuffer> SharedBuffer::OpenPeer(std::string_view text, std::size_t members,
                                                  std::size_t owner, std::size_t opener) {
  Token token;
  if (!ParseToken(text, &token)) {
    return base::InvalidError("'" + base::Printable(text, 60) + "' does not name a buffer");
  }
  const std::string path = "/proc/" + std::to_string(token.pid) + "/fd/" + std::to_string(token.fd);
  // Non-blocking: a descriptor number that has been reused may name a pipe now.
  base::UniqueFd fd(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return base::UnavailableError("cannot open " + path + ": " + ErrnoText());
  const std::size_t bytes = BufferBytes(members);
  struct stat about {};
  if (fstat(fd.get(), &about) != 0 || !S_ISREG(about.st_mode) ||
      about.st_size != static_cast<off_t>(bytes) || fcntl(fd.get(), F_GET_SEALS) != kSeals) {
    return base::UnavailableError(path + " is no longer a p2p buffer (has its process ended?)");
  }
  SharedBuffer buffer;
  buffer.mapping_ = Mapping(fd.get(), bytes);
  if (buffer.mapping_.data() == nullptr) {
    return base::ExhaustedError("cannot map " + path + ": " + ErrnoText());
  }
  Header header;
  std::memcpy(&header, buffer.mapping_.data(), sizeof header);
  if (header != Header{kMagic, token.seed, members, owner}) {
    return base::UnavailableError(path + " is a different p2p buffer (has its process ended?)");
  }
  buffer.members_ = members;
  buffer.owner_ = owner;
  buffer.slot_bytes_ = SlotBytes(members);
  buffer.seed_ = token.seed;
  buffer.token_ = text;
  // Relaxed: the byte only reports that this process has mapped the memory; it publishes no data.
  std::atomic_ref<char>(*buffer.OpenedBy(opener)).store(1, std::memory_order_relaxed);
  return buffer;
}

char* SharedBuffer::OpenedBy(std::size_t member) const {
  return mapping_.data() + kOpenedByAt + member;
}

bool SharedBuffer::OpenedOrGone(const std::vector<std::string>& tokens) const {
  for (std::size_t i = 0; i < members_; ++i) {
    if (i == owner_) continue;
    if (std::atomic_ref<char>(*OpenedBy(i)).load(std::memory_order_relaxed) != 0) continue;
    Token token;
    const bool gone = ParseToken(tokens[i], &token) && kill(token.pid, 0) != 0 && errno == ESRCH;
    if (!gone) return false;
  }
  return true;
}

char* SharedBuffer::slot(std::size_t peer) const {
  const std::size_t place = peer < owner_ ? peer : peer - 1;
  return source() + kSourceBytes + place * slot_bytes_;
}

}  // namespace assay::driver::host

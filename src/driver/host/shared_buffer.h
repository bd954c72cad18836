// The buffer of a host device, in memory shared between worker processes: its peers copy from it
// and into it. It has two files, so that a device with a fault cannot make another look faulty:
//
//   source  header | a known pattern, written once. Sealed: only the owner's own mapping can write.
//   slots   a byte for each member | slots, one per peer. A peer maps the bytes and its own slot.
//
// A member sets its byte after it has opened the buffer.
//
// The files have no names; a peer opens them through the owner's /proc entry, with the numbers in
// the token and the header. Their sizes are sealed, so no process can truncate them under a reader.
//
// Thread safety: threads may read and write disjoint parts of the memory; everything else from one
// thread.
// Lifetime: peers can open the buffer while its owner has it open. Their mappings remain valid
// after the owner has ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"

namespace assay::driver::host {

inline constexpr std::size_t kPageBytes = 4096;
inline constexpr std::size_t kMembersMax = 1024;
inline constexpr std::size_t kSourceBytes = std::size_t{16} << 20;
inline constexpr std::size_t kSourceWords = kSourceBytes / sizeof(std::uint64_t);

// Word `index` of the pattern. It differs at every index, and most bits toggle from one index to
// the next.
inline std::uint64_t PatternWord(std::uint64_t seed, std::uint64_t index) {
  const std::uint64_t x = seed + index * 0x9E3779B97F4A7C15;
  return x ^ (x >> 32);
}

// The size of a slot in a group of `members`. All slots of a buffer together are about as large as
// its source.
std::size_t SlotBytes(std::size_t members);

// Owns a shared mapping of a part of a file, or nothing.
class Mapping {
 public:
  enum class Access { kRead, kReadWrite };

  Mapping() = default;
  // On failure data() is nullptr and errno has the reason. REQUIRES: `begin` is a whole page.
  Mapping(int fd, std::size_t begin, std::size_t bytes, Access access);
  ~Mapping();
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;

  char* data() const { return data_; }

 private:
  char* data_ = nullptr;
  std::size_t bytes_ = 0;
};

class SharedBuffer {
 public:
  // Creates a buffer of this process and reserves its memory. Does not write the pattern.
  // REQUIRES: 2 <= members <= kMembersMax.
  static base::Result<SharedBuffer> Create(std::size_t members, std::size_t owner);

  // Opens the buffer of member `owner` that `token` names, on behalf of member `opener`. The error
  // does not name the owner; the caller adds that.
  static base::Result<SharedBuffer> OpenPeer(std::string_view token, std::size_t members,
                                             std::size_t owner, std::size_t opener);

  const std::string& token() const { return token_; }
  std::uint64_t seed() const { return seed_; }

  const char* source() const { return source_.data() + kPageBytes; }
  // REQUIRES: Create made this buffer.
  char* writable_source() const { return source_.data() + kPageBytes; }

  // The slot of the owner's buffer that this member writes. REQUIRES: OpenPeer made this buffer.
  char* slot() const { return slot_.data(); }

  // True if every other member has opened this buffer or has no process to wait for: the process
  // that its token names has exited, or the token names none.
  // REQUIRES: Create made this buffer, and tokens[i] is member i's.
  bool OpenedOrGone(const std::vector<std::string>& tokens) const;

 private:
  SharedBuffer() = default;

  // Peers can open the files while the owner has them open.
  base::UniqueFd source_fd_;
  base::UniqueFd slots_fd_;
  Mapping source_;
  Mapping opened_by_;
  Mapping slot_;
  std::size_t members_ = 0;
  std::size_t owner_ = 0;
  std::uint64_t seed_ = 0;
  std::string token_;
};

}  // namespace assay::driver::host

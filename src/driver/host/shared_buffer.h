// The buffer of a host device, in memory shared between worker processes: its peers copy from it
// and into it.
//
//   header | source: a known pattern, written once | slots: one per peer, written by that peer only
//
// The header's page also has a byte for every member, which that member sets after it has opened
// the buffer.
//
// The file has no name; a peer opens it through the owner's /proc entry, with the numbers in the
// token. Its size is sealed, so no process can truncate it under a reader.
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

// Owns a shared mapping of a file, or nothing.
class Mapping {
 public:
  Mapping() = default;
  Mapping(int fd, std::size_t bytes);  // on failure data() is nullptr and errno has the reason
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
  char* source() const { return mapping_.data() + kPageBytes; }
  // True if every other member has opened this buffer or its process, known from its token, has
  // exited. REQUIRES: Create made this buffer, and tokens[i] is member i's.
  bool OpenedOrGone(const std::vector<std::string>& tokens) const;

  // The slot that member `peer` writes. REQUIRES: peer is not the owner.
  char* slot(std::size_t peer) const;

 private:
  SharedBuffer() = default;
  char* OpenedBy(std::size_t member) const;

  Mapping mapping_;
  base::UniqueFd fd_;  // only in the owner: peers can open the buffer while it is open
  std::size_t members_ = 0;
  std::size_t owner_ = 0;
  std::size_t slot_bytes_ = 0;
  std::uint64_t seed_ = 0;
  std::string token_;
};

}  // namespace assay::driver::host

// The buffer of a host device that its peers copy from and into: memory shared between worker
// processes.
//
//   header | source: a known pattern, written once | slots: one per peer, written by that peer only
//
// The header's page also has a byte for every member, which that member sets when it has opened the
// buffer.
//
// The file has no name anywhere; a peer opens it through the owner's /proc entry, from the numbers
// in the token. Its size is sealed, so a mapping cannot be cut under a reader, and it lives on in
// the peers' mappings when its owner has ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace assay::driver {

inline constexpr std::size_t kPageBytes = 4096;
inline constexpr std::size_t kMembersMax = 1024;
inline constexpr std::size_t kSourceBytes = std::size_t{16} << 20;
inline constexpr std::size_t kSourceWords = kSourceBytes / sizeof(std::uint64_t);

// Word `index` of the pattern; differs at every index, and toggles most bits from one to the next.
inline std::uint64_t PatternWord(std::uint64_t seed, std::uint64_t index) {
  const std::uint64_t x = seed + index * 0x9E3779B97F4A7C15;
  return x ^ (x >> 32);
}

// What a slot holds, for a group of `members`: all slots of a buffer together are about one source.
std::size_t SlotBytes(std::size_t members);

// Memory that this process maps, or nothing.
class Mapping {
 public:
  Mapping() = default;
  Mapping(int fd, std::size_t bytes);  // data() is nullptr when it failed; errno says why
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
  // A new buffer of this process, its memory reserved. The pattern is not written yet.
  // REQUIRES: 2 <= members <= kMembersMax.
  static Result<SharedBuffer> Create(std::size_t members, std::size_t owner);

  // The buffer of member `owner` that `token` names, for member `opener`. The error tells what is
  // wrong, not whose it is.
  static Result<SharedBuffer> OpenPeer(std::string_view token, std::size_t members,
                                       std::size_t owner, std::size_t opener);

  SharedBuffer(SharedBuffer&& other) noexcept;
  SharedBuffer& operator=(SharedBuffer&& other) noexcept;
  ~SharedBuffer();

  const std::string& token() const { return token_; }
  std::uint64_t seed() const { return seed_; }
  char* source() const { return mapping_.data() + kPageBytes; }
  // Of a buffer of this process: every other member has opened it, or its process, known from its
  // token, is gone. REQUIRES: tokens[i] is member i's.
  bool OpenedOrGone(const std::vector<std::string>& tokens) const;

  // The slot that member `peer` writes. REQUIRES: peer is not the owner.
  char* slot(std::size_t peer) const;

 private:
  SharedBuffer() = default;
  char* OpenedBy(std::size_t member) const;

  Mapping mapping_;
  int fd_ = -1;  // own buffers only: peers reach it while it is open
  std::size_t members_ = 0;
  std::size_t owner_ = 0;
  std::size_t slot_bytes_ = 0;
  std::uint64_t seed_ = 0;
  std::string token_;
};

}  // namespace assay::driver

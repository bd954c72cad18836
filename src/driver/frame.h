// Frames on the pipes between the agent and a worker:
//
//   0  u32  bytes of payload, little endian, at most kFramePayloadMax
//   4  u8   'A'
//   5  u8   kFrameVersion
//   6  u8   type (message.h)
//   7  u8   0
//   8       payload
//
// Both ends are the same program, so versions never differ in practice. The decoder checks the
// version and the other fixed bytes because a driver library may write into the pipe, and such
// bytes must not pass for an answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace assay::driver {

inline constexpr std::uint8_t kFrameVersion = 2;
inline constexpr std::size_t kFrameHeaderBytes = 8;
inline constexpr std::size_t kFramePayloadMax = std::size_t{1} << 20;

struct Frame {
  std::uint8_t type = 0;
  std::string payload;
};

// REQUIRES: payload.size() <= kFramePayloadMax.
std::string EncodeFrame(std::uint8_t type, std::string_view payload);

// Splits a byte stream into frames. After an error every Next() returns that error, because the
// start of the next frame is unknown. It holds at most one frame beyond what was appended since the
// last Next().
//
// Thread safety: none.
class FrameDecoder {
 public:
  void Append(std::string_view bytes);

  // The next complete frame; nullopt if it needs more bytes; kInvalid names what is wrong with the
  // bytes.
  base::Result<std::optional<Frame>> Next();

 private:
  std::string buffer_;
  std::size_t begin_ = 0;  // start of the unconsumed bytes in buffer_
  base::Status error_;
};

}  // namespace assay::driver

#include "driver/frame.h"

#include <cassert>

namespace assay::driver {
namespace {

constexpr std::uint8_t kMark = 'A';

// The first bytes in hexadecimal, at most eight, for an error message.
std::string Hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (char c : bytes.substr(0, kFrameHeaderBytes)) {
    if (!out.empty()) out += ' ';
    const auto value = static_cast<unsigned char>(c);
    out += kDigits[value >> 4];
    out += kDigits[value & 15];
  }
  return out;
}

}  // namespace

std::string EncodeFrame(std::uint8_t type, std::string_view payload) {
  assert(payload.size() <= kFramePayloadMax);
  std::string out;
  out.reserve(kFrameHeaderBytes + payload.size());
  const auto size = static_cast<std::uint32_t>(payload.size());
  for (unsigned shift = 0; shift < 32; shift += 8) out += static_cast<char>(size >> shift);
  out += static_cast<char>(kMark);
  out += static_cast<char>(kFrameVersion);
  out += static_cast<char>(type);
  out += '\0';
  out += payload;
  return out;
}

void FrameDecoder::Append(std::string_view bytes) {
  if (!error_.ok()) return;
  buffer_.erase(0, begin_);
  begin_ = 0;
  buffer_ += bytes;
}

base::Result<std::optional<Frame>> FrameDecoder::Next() {
  if (!error_.ok()) return error_;
  const std::string_view bytes = std::string_view(buffer_).substr(begin_);
  if (bytes.size() < kFrameHeaderBytes) return std::optional<Frame>();
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
  std::uint32_t size = 0;
  for (unsigned i = 0; i < 4; ++i) size |= std::uint32_t{byte(i)} << (8 * i);
  if (byte(4) != kMark || byte(7) != 0) {
    error_ = base::InvalidError("not a frame: " + Hex(bytes));
  } else if (byte(5) != kFrameVersion) {
    error_ = base::InvalidError("frame of version " + std::to_string(byte(5)) + ", expected " +
                                std::to_string(kFrameVersion));
  } else if (size > kFramePayloadMax) {
    error_ = base::InvalidError("frame of " + std::to_string(size) + " bytes, at most " +
                                std::to_string(kFramePayloadMax) + " are allowed");
  }
  if (!error_.ok()) {
    buffer_ = {};
    begin_ = 0;
    return error_;
  }
  if (bytes.size() < kFrameHeaderBytes + size) return std::optional<Frame>();
  Frame frame;
  frame.type = byte(6);
  frame.payload = std::string(bytes.substr(kFrameHeaderBytes, size));
  begin_ += kFrameHeaderBytes + size;
  return std::optional<Frame>(std::move(frame));
}

}  // namespace assay::driver

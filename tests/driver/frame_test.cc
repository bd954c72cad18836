#include "driver/frame.h"

#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

using namespace assay::base;
using namespace assay::driver;

namespace {

std::vector<Frame> TakeAll(FrameDecoder* decoder) {
  std::vector<Frame> frames;
  for (;;) {
    Result<std::optional<Frame>> frame = decoder->Next();
    REQUIRE(frame.ok());
    if (!frame->has_value()) return frames;
    frames.push_back(**frame);
  }
}

std::string ErrorFor(const std::string& bytes) {
  FrameDecoder decoder;
  decoder.Append(bytes);
  const Result<std::optional<Frame>> frame = decoder.Next();
  return frame.ok() ? "" : frame.status().text();
}

}  // namespace

TEST_CASE("the decoder returns the encoded frames, however the bytes are split") {
  std::mt19937 random(20260102);
  for (int round = 0; round < 200; ++round) {
    std::vector<Frame> sent;
    std::string bytes;
    const auto count = random() % 6;
    for (std::size_t i = 0; i < count; ++i) {
      Frame frame;
      frame.type = static_cast<std::uint8_t>(random());
      const std::size_t size = random() % 10 == 0 ? random() % 70000 : random() % 40;
      for (std::size_t k = 0; k < size; ++k) frame.payload += static_cast<char>(random());
      bytes += EncodeFrame(frame.type, frame.payload);
      sent.push_back(frame);
    }
    FrameDecoder decoder;
    std::vector<Frame> got;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t piece = std::min<std::size_t>(bytes.size() - at, random() % 5000 + 1);
      decoder.Append(bytes.substr(at, piece));
      at += piece;
      for (const Frame& frame : TakeAll(&decoder)) got.push_back(frame);
    }
    REQUIRE(got.size() == sent.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      CHECK(got[i].type == sent[i].type);
      CHECK(got[i].payload == sent[i].payload);
    }
  }
}

TEST_CASE("the decoder accepts a frame one byte at a time") {
  const std::string bytes = EncodeFrame(7, "payload");
  FrameDecoder decoder;
  for (std::size_t i = 0; i + 1 < bytes.size(); ++i) {
    decoder.Append(bytes.substr(i, 1));
    CHECK(TakeAll(&decoder).empty());
  }
  decoder.Append(bytes.substr(bytes.size() - 1));
  REQUIRE(TakeAll(&decoder).size() == 1);
}

TEST_CASE("the largest frame is accepted, and one byte more is refused") {
  FrameDecoder decoder;
  decoder.Append(EncodeFrame(1, std::string(kFramePayloadMax, 'x')));
  const std::vector<Frame> frames = TakeAll(&decoder);
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].payload.size() == kFramePayloadMax);

  std::string larger = EncodeFrame(1, "");
  larger[0] = 1;
  larger[2] = 0x10;
  CHECK(ErrorFor(larger) == "frame of 1048577 bytes, at most 1048576 are allowed");
}

TEST_CASE("an invalid frame is refused, with its bytes in the error, and so is all after it") {
  CHECK(ErrorFor("garbage!") == "not a frame: 67 61 72 62 61 67 65 21");
  std::string other = EncodeFrame(1, "");
  other[5] = 9;
  CHECK(ErrorFor(other) == "frame of version 9, expected 2");

  FrameDecoder decoder;
  decoder.Append("garbage garbage");
  CHECK_FALSE(decoder.Next().ok());
  decoder.Append(EncodeFrame(1, "fine"));
  CHECK_FALSE(decoder.Next().ok());
}

TEST_CASE("random bytes and damaged frames never yield more bytes than were appended") {
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = EncodeFrame(static_cast<std::uint8_t>(random() % 32), "some payload here");
    if (random() % 2 == 0) bytes.resize(random() % 64, static_cast<char>(random()));
    for (std::size_t damage = random() % 4; damage > 0 && !bytes.empty(); --damage) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    FrameDecoder decoder;
    decoder.Append(bytes);
    std::size_t total = 0;
    for (;;) {
      const Result<std::optional<Frame>> frame = decoder.Next();
      if (!frame.ok() || !frame->has_value()) break;
      total += kFrameHeaderBytes + (*frame)->payload.size();
    }
    REQUIRE(total <= bytes.size());
  }
}

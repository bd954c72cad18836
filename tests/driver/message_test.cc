#include "driver/message.h"

#include <catch2/catch.hpp>
#include <random>
#include <string>

using namespace assay;
using namespace assay::base;
using namespace assay::core;
using namespace assay::driver;

namespace {

template <class Message>
Frame FrameOf(const Message& message) {
  Result<std::string> bytes = Encode(message);
  REQUIRE(bytes.ok());
  FrameDecoder decoder;
  decoder.Append(*bytes);
  Result<std::optional<Frame>> frame = decoder.Next();
  REQUIRE(frame.ok());
  REQUIRE(frame->has_value());
  return **frame;
}

template <class Body>
Body RoundTripTo(const Body& body) {
  Result<ToWorker> message = DecodeToWorker(FrameOf(ToWorker(body)));
  REQUIRE(message.ok());
  REQUIRE(std::holds_alternative<Body>(*message));
  return std::get<Body>(*message);
}

template <class Body>
Body RoundTripFrom(const Body& body) {
  Result<FromWorker> message = DecodeFromWorker(FrameOf(FromWorker(body)));
  REQUIRE(message.ok());
  REQUIRE(std::holds_alternative<Body>(*message));
  return std::get<Body>(*message);
}

const P2pGroup kGroup{{{3, 1}, {-4, 2147483647}}, 1};

}  // namespace

TEST_CASE("messages to a worker keep every field") {
  Start start;
  start.options.kind = "host";
  start.options.Set("host-devices", 5);
  start.options.Set("host-seconds", 6);
  start.options.Set("host-level", "x86-64-v2");
  start.options.Set("host-fault", "0:aic=flip@1");
  start.options.Set("sim-devices", 9);
  start.options.Set("sim-op-ms", 10);
  start.options.Set("sim", "1:aic=hang");
  start.options.frame_fd = 4;
  const Options got = RoundTripTo(start).options;
  CHECK(got.kind == "host");
  CHECK(got.values.at("host-devices") == "5");
  CHECK(got.values.at("host-seconds") == "6");
  CHECK(got.values.at("host-level") == "x86-64-v2");
  CHECK(got.values.at("host-fault") == "0:aic=flip@1");
  CHECK(got.values.at("sim-devices") == "9");
  CHECK(got.values.at("sim-op-ms") == "10");
  CHECK(got.values.at("sim") == "1:aic=hang");
  CHECK(got.frame_fd == -1);  // local to the worker, never sent

  RoundTripTo(ListDevices{});
  RoundTripTo(driver::RunAic{});
  RoundTripTo(Quit{});
  CHECK(RoundTripTo(OpenDevice{7}).device == 7);
  CHECK(RoundTripTo(driver::MakeSafe{-1}).device == -1);
  CHECK(RoundTripTo(driver::PrepareP2p{kGroup}).group == kGroup);
  const driver::RunP2p run = RoundTripTo(driver::RunP2p{kGroup, {"", std::string("\0x", 2)}});
  CHECK(run.group == kGroup);
  CHECK(run.blobs == std::vector<std::string>{"", std::string("\0x", 2)});
}

TEST_CASE("messages from a worker keep every field") {
  const std::vector<ListedDevice> devices = {{0, "cpu", "core 0"}, {1, "cpu", ""}};
  const DevicesListed listed = RoundTripFrom(DevicesListed{"e", "host", devices});
  CHECK(listed.error == "e");
  CHECK(listed.driver == "host");
  CHECK(listed.devices == devices);
  CHECK(RoundTripFrom(DeviceOpened{"no such device"}).error == "no such device");
  CHECK(RoundTripFrom(OpStarted{Op::kP2p}).op == Op::kP2p);
  const OpProgress progress = RoundTripFrom(OpProgress{Op::kP2p, 42, "copies"});
  CHECK(progress.op == Op::kP2p);
  CHECK(progress.percent == 42);
  CHECK(progress.text == "copies");
  const OpDone done = RoundTripFrom(OpDone{Op::kP2p, OutcomeCode::kFaulty, "a bit"});
  CHECK(done.op == Op::kP2p);
  CHECK(done.code == OutcomeCode::kFaulty);
  CHECK(done.detail == "a bit");
  const P2pPrepared prepared = RoundTripFrom(P2pPrepared{"error", "blob"});
  CHECK(prepared.error == "error");
  CHECK(prepared.blob == "blob");
  const MadeSafe safe = RoundTripFrom(MadeSafe{true, "850 mV"});
  CHECK(safe.voltage_changed);
  CHECK(safe.detail == "850 mV");
}

TEST_CASE("a message that does not fit into a frame is refused") {
  const Result<std::string> bytes =
      Encode(ToWorker(driver::RunP2p{kGroup, {std::string(kFramePayloadMax, 'x')}}));
  REQUIRE_FALSE(bytes.ok());
  CHECK(bytes.status().code() == Code::kExhausted);
}

TEST_CASE("wrong types, values and lengths are refused") {
  CHECK_FALSE(DecodeToWorker(FrameOf(FromWorker(OpStarted{}))).ok());
  CHECK_FALSE(DecodeFromWorker(FrameOf(ToWorker(Quit{}))).ok());
  CHECK(DecodeFromWorker(Frame{255, ""}).status().text() == "frame of unknown type 255");

  Frame done = FrameOf(FromWorker(OpDone{Op::kAic, OutcomeCode::kOk, "x"}));
  Frame wrong = done;
  wrong.payload[1] = 5;  // there are codes 0 to 4
  CHECK_FALSE(DecodeFromWorker(wrong).ok());
  wrong = done;
  wrong.payload[0] = 2;  // there are ops 0 and 1
  CHECK_FALSE(DecodeFromWorker(wrong).ok());
  wrong = done;
  wrong.payload += 'x';
  CHECK_FALSE(DecodeFromWorker(wrong).ok());
  for (std::size_t size = 0; size < done.payload.size(); ++size) {
    CHECK_FALSE(DecodeFromWorker(Frame{done.type, done.payload.substr(0, size)}).ok());
  }
}

TEST_CASE("decoding random payloads is safe") {
  std::mt19937 random(11);
  const Frame good = FrameOf(ToWorker(driver::RunP2p{kGroup, {"one", "two"}}));
  int taken = 0;
  for (int round = 0; round < 50000; ++round) {
    Frame frame = good;
    if (random() % 2 == 0) {
      frame.type = static_cast<std::uint8_t>(random());
      frame.payload.resize(random() % 80);
      for (char& c : frame.payload) c = static_cast<char>(random() % 4 == 0 ? random() : 0);
    } else {
      frame.payload[random() % frame.payload.size()] = static_cast<char>(random());
    }
    taken += DecodeToWorker(frame).ok() ? 1 : 0;
    taken += DecodeFromWorker(frame).ok() ? 1 : 0;
  }
  CHECK(taken > 0);       // some damage only changes a value
  CHECK(taken < 100000);  // and most of it is detected
}

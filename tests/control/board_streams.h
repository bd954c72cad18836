// Fake job signals and a fake encoder, for tests of the board's fan-out without gRPC.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "control/board_fanout.h"

namespace assay::control {

// A message made by the fake encoder, as a client would read it.
struct FakeMessage {
  std::vector<core::SignalPtr> signals;
  std::vector<std::string> uuids;
  core::Ms report_time = 0;  // lists only
  std::size_t total = 0;
};

inline Bytes AsBytes(const std::shared_ptr<const FakeMessage>& message) {
  return {message, reinterpret_cast<const grpc::ByteBuffer*>(message.get())};
}
inline const FakeMessage& AsMessage(const Bytes& bytes) {
  return *reinterpret_cast<const FakeMessage*>(bytes.get());
}

class FakeEncoder final : public Encoder {
 public:
  explicit FakeEncoder(std::size_t signal_bytes) : signal_bytes_(signal_bytes) {}

  Bytes Notify(const std::string&, const std::vector<core::RankOps>&) const override {
    return nullptr;
  }
  Bytes Result(const std::string&, const std::string&) const override { return nullptr; }
  EncodedMessage JobSignal(const core::Signal& signal, const std::string& uuid) const override {
    ++encoded;
    auto message = std::make_shared<FakeMessage>();
    message->signals.push_back(std::make_shared<const core::Signal>(signal));
    message->uuids.push_back(uuid);
    return {AsBytes(message), signal_bytes_};
  }
  EncodedMessage JobSignalList(const std::vector<EncodedMessage>& signals, core::Ms report_time,
                               std::size_t total) const override {
    auto list = std::make_shared<FakeMessage>();
    std::size_t size = kListBytesOnce;
    for (const EncodedMessage& signal : signals) {
      const FakeMessage& one = AsMessage(signal.bytes);
      list->signals.push_back(one.signals[0]);
      list->uuids.push_back(one.uuids[0]);
      size += signal.size + kListBytesEach;
    }
    list->report_time = report_time;
    list->total = total;
    return {AsBytes(list), size};
  }

  mutable std::uint64_t encoded = 0;  // signals encoded; one thread at a time, like the queue

 private:
  const std::size_t signal_bytes_;
};

inline core::SignalPtr MakeSignal(const std::string& job, std::uint64_t change, bool deleted) {
  core::Signal signal;
  signal.job.id = job;
  signal.change = change;
  signal.deleted = deleted;
  signal.hccl = std::make_shared<const std::string>();
  return std::make_shared<const core::Signal>(std::move(signal));
}

}  // namespace assay::control

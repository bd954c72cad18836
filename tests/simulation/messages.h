// The messages that simulated streams carry in place of bytes, and the encoder that makes them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "control/ports.h"

namespace assay::simulation {

struct Message {
  std::string job;  // of a notification or a result
  std::vector<core::RankOps> ranks;
  std::string result;
  std::vector<core::SignalPtr> signals;  // of one message of job signals
};

inline control::Bytes AsBytes(const std::shared_ptr<const Message>& message) {
  return {message, reinterpret_cast<const grpc::ByteBuffer*>(message.get())};
}
inline const Message& AsMessage(const control::Bytes& bytes) {
  return *reinterpret_cast<const Message*>(bytes.get());
}

class MessageEncoder final : public control::Encoder {
 public:
  // Three signals fill a page of a list.
  static constexpr std::size_t kSignalBytes =
      (control::kMessageBytesMax - kListBytesOnce) / 3 - kListBytesEach;

  control::Bytes Notify(const std::string& job,
                        const std::vector<core::RankOps>& ranks) const override {
    return AsBytes(std::make_shared<const Message>(Message{job, ranks, "", {}}));
  }
  control::Bytes Result(const std::string& job, const std::string& message) const override {
    return AsBytes(std::make_shared<const Message>(Message{job, {}, message, {}}));
  }
  control::EncodedMessage JobSignal(const core::Signal& signal, const std::string&) const override {
    Message message;
    message.signals.push_back(std::make_shared<const core::Signal>(signal));
    return {AsBytes(std::make_shared<const Message>(std::move(message))), kSignalBytes};
  }
  control::EncodedMessage JobSignalList(const std::vector<control::EncodedMessage>& signals,
                                        core::Ms, std::size_t) const override {
    Message list;
    for (const control::EncodedMessage& signal : signals) {
      list.signals.push_back(AsMessage(signal.bytes).signals.at(0));
    }
    const std::size_t size = kListBytesOnce + signals.size() * (kSignalBytes + kListBytesEach);
    return {AsBytes(std::make_shared<const Message>(std::move(list))), size};
  }
};

}  // namespace assay::simulation

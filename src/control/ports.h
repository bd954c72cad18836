// The interfaces through which the control loop and the fan-out use calls, streams and encoding,
// free of gRPC: their code compiles quickly and is tested with fake streams, under the thread
// sanitizer too.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "core/effect.h"
#include "core/fleet_message.h"
#include "core/model.h"
#include "core/signal.h"

namespace grpc {
class ByteBuffer;
}

namespace assay::control {

// A unary call that waits for the loop's answer. The control loop calls exactly one of the two
// methods, once. They must not block; the object may be deleted before they return.
class PendingCall {
 public:
  virtual void Answered(core::Answer&& answer) = 0;
  virtual void Failed(const base::Status& status) = 0;

 protected:
  ~PendingCall() = default;
};

// The bytes of one message, shared by every stream they are written to.
using Bytes = std::shared_ptr<const grpc::ByteBuffer>;

struct EncodedMessage {
  Bytes bytes;  // null: not encoded yet
  std::size_t size = 0;
};

// gRPC clients accept 4 MiB by default; 64 KiB are reserved for the framing of a message.
inline constexpr std::size_t kMessageBytesMax = (std::size_t{4} << 20) - (std::size_t{64} << 10);

// Serialises messages that many streams get. Called by the fan-out workers, several at a time.
class Encoder {
 public:
  virtual ~Encoder() = default;
  virtual Bytes Notify(const std::string& job, const std::vector<core::RankOps>& ranks) const = 0;
  virtual Bytes Result(const std::string& job, const std::string& message) const = 0;

  // Upper bounds of a list's bytes beside those of its signals: per signal, and once per list.
  static constexpr std::size_t kListBytesEach = 5;
  static constexpr std::size_t kListBytesOnce = 48;
  // One job's state, for SubscribeJobSummarySignal. At most kMessageBytesMax, also when it is the
  // only signal of a list.
  virtual EncodedMessage JobSignal(const core::Signal& signal, const std::string& uuid) const = 0;
  // A list of messages that JobSignal returned, in that order. total: jobs in all pages of the
  // list.
  virtual EncodedMessage JobSignalList(const std::vector<EncodedMessage>& signals,
                                       core::Ms report_time, std::size_t total) const = 0;
};

// Receives the notice that a stream has room again. Called from any thread; outlives the streams.
class RoomListener {
 public:
  virtual void StreamHasRoom(core::StreamId stream) = 0;

 protected:
  ~RoomListener() = default;
};

// One subscriber's stream, as used by its filler: the fan-out queue that serves it. One thread at a
// time.
class StreamPort {
 public:
  // Sends the initial metadata: the client sees that it is subscribed.
  virtual void Announce() = 0;
  // Puts the run of the coming result into the initial metadata. REQUIRES: nothing was sent.
  virtual void NameRun(core::RunId run) = 0;
  // Streams of job signals: true if a message of `bytes` bytes may be sent now. False: too much is
  // unwritten; the room listener is notified when there is room again. Always true once the client
  // has disconnected.
  virtual bool Ready(std::size_t bytes) = 0;
  // False: the outbox is full because the client does not read; the message was not accepted.
  // Never false right after Ready returned true. Once the client has disconnected, messages are
  // accepted and dropped.
  virtual bool Send(const Bytes& bytes) = 0;
  // Posts to the loop that the stream is closed. Posted once, even if the client disconnects too.
  virtual void PostClosed() = 0;
  // The last call: the object may be deleted before it returns.
  virtual void End(const base::Status& status) = 0;

 protected:
  ~StreamPort() = default;
};

// One agent's stream, as used by the loop and the fan-out.
class LinkPort {
 public:
  // --- Called by the control loop ---

  // Starts reading the next message. REQUIRES: the previous one was consumed, no end was posted.
  virtual void ReadNext() = 0;
  // Milliseconds since the agent's last message, or since ReadNext if that is later. 0 while one of
  // its messages is being processed: then the delay is the coordinator's.
  virtual core::Ms SilentFor() const = 0;

  // --- Called by the fan-out, one thread at a time ---

  virtual void Deliver(const core::CoordinatorMessage& message) = 0;
  // The last call: the object may be deleted before it returns.
  virtual void End(const base::Status& status) = 0;

 protected:
  ~LinkPort() = default;
};

}  // namespace assay::control

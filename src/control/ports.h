// What the control loop and the fan-out need of gRPC's side, without gRPC: so they compile quickly
// and can be tested with streams made of nothing, under the thread sanitizer too.
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

namespace assay {

// A unary call that waits for the loop's answer. Exactly one of the two is called, once; the object
// may be gone before that returns. Called by the control loop: must not block.
class PendingCall {
 public:
  virtual void Answered(Answer&& answer) = 0;
  virtual void Failed(const Status& status) = 0;

 protected:
  ~PendingCall() = default;
};

// The bytes of one message, shared by every stream they are written to.
using Bytes = std::shared_ptr<const grpc::ByteBuffer>;

struct EncodedMessage {
  Bytes bytes;  // null: not made yet
  std::size_t size = 0;
};

// gRPC clients take 4 MiB by default; 64 KiB are left for what comes around a message.
inline constexpr std::size_t kMessageBytesMax = (std::size_t{4} << 20) - (std::size_t{64} << 10);

// Serialises what many streams get. Called by the fan-out's threads.
class Encoder {
 public:
  virtual ~Encoder() = default;
  virtual Bytes Notify(const std::string& job, const std::vector<RankOps>& ranks) const = 0;
  virtual Bytes Result(const std::string& job, const std::string& message) const = 0;

  // Bytes that a list has beside its signals' own: for each signal, and once.
  static constexpr std::size_t kListBytesEach = 5;
  static constexpr std::size_t kListBytesOnce = 48;
  // A job's state for the single method; at most kMessageBytesMax, as a list of it alone too.
  virtual EncodedMessage JobSignal(const Signal& signal, const std::string& uuid) const = 0;
  // A list of what JobSignal gave, in that order. total: of all jobs in all its pages.
  virtual EncodedMessage JobSignalList(const std::vector<EncodedMessage>& signals, Ms report_time,
                                       std::size_t total) const = 0;
};

// Where a stream says that it has room again. Any thread; outlives the streams.
class RoomListener {
 public:
  virtual void StreamHasRoom(StreamId stream) = 0;

 protected:
  ~RoomListener() = default;
};

// One subscriber's stream, as its filler sees it: one thread at a time.
class StreamPort {
 public:
  // Says that it is subscribed.
  virtual void Announce() = 0;
  // Names the run whose result comes. REQUIRES: nothing was sent.
  virtual void NameRun(RunId run) = 0;
  // Streams of job signals: may a message of so many bytes be sent? False: more than that waits;
  // the room listener hears of it when that has changed. A client that is gone has all the room.
  virtual bool Ready(std::size_t bytes) = 0;
  // False: the client does not read, the message was not taken. A client that is gone takes all.
  // Never false after Ready.
  virtual bool Send(const Bytes& bytes) = 0;
  // Tells the loop that it is closed; once, whoever else does.
  virtual void PostClosed() = 0;
  // The last call: the object may be gone before it returns.
  virtual void End(const Status& status) = 0;

 protected:
  ~StreamPort() = default;
};

// One agent's stream, as the loop and the fan-out see it.
class LinkPort {
 public:
  // --- The control loop's ---

  // Takes the next message. REQUIRES: the last one was consumed, no end was posted.
  virtual void ReadNext() = 0;
  // Milliseconds since the agent was last heard, or since ReadNext if that is later; 0 while a
  // message of it is in our hands: then it is we who are slow.
  virtual Ms SilentFor() const = 0;

  // --- The fan-out's, one thread at a time ---

  virtual void Deliver(const CoordinatorMessage& message) = 0;
  // The last call: the object may be gone before it returns.
  virtual void End(const Status& status) = 0;

 protected:
  ~LinkPort() = default;
};

}  // namespace assay

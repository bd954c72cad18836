// The simulated streams of subscribers, in place of gRPC's: the coordinator's side is the port that
// the fan-out writes to, the other side is the client that uses it.
//
// Opened, closed and done of a stream arrive at the coordinator after delays of their own, so in
// any order. A disconnect may be noticed before or after the coordinator's end of the stream, or
// not at all. Every port checks that it is used as gRPC's streams allow.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "control/intake.h"
#include "tests/simulation/messages.h"
#include "tests/simulation/world.h"

namespace assay::simulation {

// A client of streams.
class StreamUser {
 public:
  virtual void Announced(core::StreamId stream) = 0;
  // The client has room for a message of job signals. Without room, Streams::Read must follow.
  virtual bool HasRoom(core::StreamId stream) = 0;
  virtual void Received(core::StreamId stream, const Message& message) = 0;
  // By the coordinator; also after the client has disconnected.
  virtual void Ended(core::StreamId stream, const base::Status& status) = 0;

 protected:
  ~StreamUser() = default;
};

class Streams {
 public:
  explicit Streams(World* world) : world_(*world) {}

  // Gives the intake of the coordinator's process something to post.
  std::function<void(const std::function<void(control::Intake*)>&)> post;
  std::function<void(core::StreamId)> room;  // the stream has room again

  // Opens a stream under a new id. The user outlives the streams.
  core::StreamId Open(core::StreamOpened opened, StreamUser* user);
  void Close(core::StreamId id);  // the client disconnects
  void Read(core::StreamId id);   // the client has read a message
  // No port is used or posts any more: its process has died.
  void CoordinatorDied();
  // The number of streams that the coordinator's process has and has not ended.
  int open() const;

 private:
  class Port;

  World& world_;
  std::map<core::StreamId, std::shared_ptr<Port>> ports_;
};

}  // namespace assay::simulation

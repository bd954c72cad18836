// The simulated clients of the coordinator: platforms that apply jobs, request tests, wait for
// results, cancel and delete, also with invalid requests; and training agents that are notified and
// reply in parts, repeatedly, late, wrongly or not at all. Also does the part of the process around
// the core: keeps which stream listens to which job.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/effect.h"
#include "tests/simulation/disk.h"
#include "tests/simulation/streams.h"
#include "tests/simulation/world.h"

namespace assay::simulation {

class Clients final : StreamUser {
 public:
  // REQUIRES: both outlive it.
  Clients(World* world, Streams* streams) : world_(*world), all_(*streams) {}

  std::function<bool()> reachable;        // the coordinator is up
  std::function<void(core::Event)> call;  // a unary call to the coordinator
  std::function<core::RunId()> newest_run;

  void Start();
  // From now on clients send no requests except AskForAll and open no streams. All notify streams
  // and some result streams close; the other result streams stay.
  void Heal();
  // Requests a test of every device of the job, run by agents, after setting all other jobs to
  // complete so that they do not block it.
  void AskForAll(const std::string& job, std::function<void(const core::Answer&)> answered);
  std::vector<std::string> Jobs() const;

  void Answered(const core::Answer& answer);

  // Checks an effect of the coordinator. What it does to the streams arrives through them.
  void Hear(const core::AttachStream& effect);
  void Hear(const core::PublishNotify& effect);
  void Hear(const core::PublishResult& effect);
  void Hear(const core::ReplayResult& effect);
  void Hear(const core::EndStream& effect);

  void Outage();           // the core has forgotten every stream
  void CoordinatorDied();  // ends every stream: its process has died

  // The stream, run or lease that still waits, and for what; "" if none waits.
  std::string Pending(const Disk& disk) const;

 private:
  struct Stream {
    core::Topic topic = core::Topic::kNotify;
    std::string job;
    bool closed = false;    // the client has disconnected
    bool ended = false;     // by the coordinator
    bool orphaned = false;  // its coordinator process has died
    int received = 0;       // messages
    // By the effects: attached, the messages of a result stream, the notifications.
    bool attached = false;
    int messages = 0;
    int notices = 0;
  };

  void Act();
  void Post(core::Event event) { PostLater(world_.Delay(world_.faults.delay), std::move(event)); }
  void PostLater(core::Ms delay, core::Event event);
  std::string AnyJob();
  std::string AnyNode();
  void Apply(const std::string& job);
  void AskForTest(const std::string& job);
  void Open(const std::string& job, core::Topic topic);
  void Close(core::StreamId id);
  void Wander();
  void EndedBy(core::StreamId id, int messages);

  void Announced(core::StreamId) override {}
  bool HasRoom(core::StreamId) override { return true; }
  void Received(core::StreamId id, const Message& message) override;
  void Ended(core::StreamId id, const base::Status& status) override;

  void Execute(const core::PublishNotify& notify);
  core::ReplyItem ItemOf(std::int32_t rank, core::Op op);

  World& world_;
  Streams& all_;
  std::map<core::StreamId, Stream> streams_;
  std::map<std::string, core::PublishNotify> unread_;  // job -> what its training agent executes
  std::map<core::CallId, std::function<void(const core::Answer&)>> waiting_;
};

}  // namespace assay::simulation

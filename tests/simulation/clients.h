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
#include "tests/simulation/world.h"

namespace assay::simulation {

class Clients {
 public:
  explicit Clients(World* world) : world_(*world) {}

  std::function<bool()> reachable;        // the coordinator is up
  std::function<void(core::Event)> post;  // to the coordinator
  std::function<core::RunId()> newest_run;

  void Start();
  // From now on clients send no requests except AskForAll and open no streams. All notify streams
  // and some result streams close; the other result streams stay.
  void Heal();
  // Requests a test of every device of the job, run by agents, after setting all other jobs to
  // complete so that they do not block it.
  void AskForAll(const std::string& job, std::function<void(const core::Answer&)> answered);
  std::vector<std::string> Jobs() const;

  void Hear(const core::Answer& effect);
  void Hear(const core::AttachStream& effect);
  void Hear(const core::PublishNotify& effect);
  void Hear(const core::PublishResult& effect);
  void Hear(const core::ReplayResult& effect);
  void Hear(const core::EndStream& effect);

  void CutAll();           // ends every stream; the coordinator gets one StreamClosed for each
  void CoordinatorDied();  // ends every stream without StreamClosed: its process has died

  // What a stream, run or lease still waits for; "" if nothing.
  std::string Pending(const Disk& disk) const;

 private:
  struct Stream {
    core::Topic topic = core::Topic::kNotify;
    std::string job;
    bool attached = false;
    bool ended = false;     // by the coordinator
    bool closed = false;    // StreamClosed was sent
    bool orphaned = false;  // its coordinator process has died
    int messages = 0;
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
  void Execute(const core::PublishNotify& notify);
  core::ReplyItem ItemOf(std::int32_t rank, core::Op op);

  World& world_;
  std::map<core::StreamId, Stream> streams_;
  std::map<core::CallId, std::function<void(const core::Answer&)>> waiting_;
};

}  // namespace assay::simulation

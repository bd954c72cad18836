#include "tests/simulation/streams.h"

#include <algorithm>
#include <utility>

namespace assay::simulation {

namespace {

// How long after a close the coordinator may take to end the stream.
constexpr core::Ms kEndedMs = 30'000;

}  // namespace

class Streams::Port final : public control::StreamPort {
 public:
  Port(Streams* streams, core::StreamOpened event, StreamUser* client)
      : world_(streams->world_), streams_(*streams), event_(std::move(event)), user_(*client) {}

  // --- The client's side ---

  void Open() {
    Later(world_.Delay(world_.faults.delay), [this](control::Intake* intake) {
      opened_ = true;
      intake->PostStreamOpened(event_.stream, this, core::StreamOpened(event_));
    });
  }
  void Close() {
    gone_ = true;
    if (!done_) PostClosed();
  }
  bool TakeStarving() { return std::exchange(starving_, false); }
  void Orphan() { orphaned_ = true; }
  bool open() const { return opened_ && !ended_ && !orphaned_; }

  // --- The coordinator's side ---

  void Announce() override {
    if (orphaned_) return;
    CheckUse();
    if (!gone_) user_.Announced(event_.stream);
  }
  void NameRun(core::RunId) override {
    if (!orphaned_) CheckUse();
  }
  bool Ready(std::size_t) override {
    if (orphaned_ || gone_) return true;
    CheckUse();
    starving_ = !user_.HasRoom(event_.stream);
    return !starving_;
  }
  bool Send(const control::Bytes& bytes) override {
    if (orphaned_) return true;
    CheckUse();
    const bool stuck = event_.topic == core::Topic::kNotify && !world_.healed &&
                       world_.Chance(world_.faults.pause);
    if (stuck && !gone_) return false;
    if (!gone_) user_.Received(event_.stream, AsMessage(bytes));
    return true;
  }
  void PostClosed() override {
    if (orphaned_ || std::exchange(close_posted_, true)) return;
    Later(world_.Delay(world_.faults.delay),
          [id = event_.stream](control::Intake* intake) { intake->PostStreamClosed(id); });
    // An opening that is still under way does not count.
    world_.At(kEndedMs, [this] {
      world_.Require(ended_ || orphaned_ || !opened_, "the coordinator keeps a closed stream");
    });
  }
  void End(const base::Status& status) override {
    if (orphaned_) return;
    CheckUse();
    ended_ = true;
    user_.Ended(event_.stream, status);
    if (world_.Chance(300)) PostClosed();
    world_.At(world_.Delay(world_.faults.delay), [this] {
      done_ = true;
      Later(world_.Below(20), [id = event_.stream, posted = close_posted_](auto* intake) {
        intake->PostStreamDone(id, posted);
      });
    });
  }

 private:
  void CheckUse() { world_.Require(!ended_, "a stream was used after its end"); }
  void Later(core::Ms delay, std::function<void(control::Intake*)> what) {
    world_.At(delay, [this, what = std::move(what)] {
      if (!orphaned_) streams_.post(what);
    });
  }

  World& world_;
  Streams& streams_;
  const core::StreamOpened event_;
  StreamUser& user_;
  bool opened_ = false;
  bool gone_ = false;  // the client has disconnected
  bool starving_ = false;
  bool close_posted_ = false;
  bool ended_ = false;
  bool done_ = false;
  bool orphaned_ = false;
};

core::StreamId Streams::Open(core::StreamOpened opened, StreamUser* user) {
  const core::StreamId id = world_.NextId();
  opened.stream = id;
  ports_[id] = std::make_shared<Port>(this, std::move(opened), user);
  ports_[id]->Open();
  return id;
}

void Streams::Close(core::StreamId id) { ports_.at(id)->Close(); }

void Streams::Read(core::StreamId id) {
  if (ports_.at(id)->TakeStarving()) room(id);
}

void Streams::CoordinatorDied() {
  for (const auto& [id, port] : ports_) port->Orphan();
}

int Streams::open() const {
  return static_cast<int>(std::count_if(ports_.begin(), ports_.end(),
                                        [](const auto& entry) { return entry.second->open(); }));
}

}  // namespace assay::simulation

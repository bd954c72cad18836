#include "tests/simulation/coordinator.h"

#include <algorithm>
#include <utility>

#include "tests/simulation/trace.h"

namespace assay::simulation {
namespace {

core::CallId CallOf(const core::Event& event) {
  return std::visit(
      [](const auto& one) -> core::CallId {
        if constexpr (requires { one.call; }) return one.call;
        return 0;
      },
      event);
}

}  // namespace

struct Coordinator::Process {
  explicit Process(Coordinator* owner)
      : turn(
            owner->world_.settings, &fanout, owner,
            [owner](bool serving) { owner->OnServing(serving); }, owner) {}

  control::Intake intake{control::IntakeLimits()};
  MessageEncoder encoder;
  control::Fanout fanout{&encoder};
  control::Turn turn;
};

class Coordinator::PendingCall final : public control::PendingCall {
 public:
  PendingCall(Coordinator* coordinator, core::CallId id) : coordinator_(*coordinator), id_(id) {}
  void Answered(core::Answer&& answer) override {
    Coordinator& coordinator = coordinator_;
    coordinator.world_.Require(answer.call == id_, "a call got the answer of another one");
    coordinator.calls_.erase(id_);  // deletes this call
    coordinator.answered(answer);
  }
  void Failed(const base::Status&) override {
    Coordinator& coordinator = coordinator_;
    const core::CallId id = id_;
    coordinator.calls_.erase(id);  // deletes this call
    coordinator.failed(id);
  }

 private:
  Coordinator& coordinator_;
  const core::CallId id_;
};

Coordinator::Coordinator(World* world, Checker* checker) : world_(*world), checker_(*checker) {}
Coordinator::~Coordinator() = default;

// --- The process -------------------------------------------------------------------------------

void Coordinator::Start() {
  if (up()) return;
  ++life_;
  world_.Trace("coordinator", [] { return std::string("starts"); });
  process_ = std::make_unique<Process>(this);
  broken_until_ = 0;
  stopping_ = false;
  work_due_ = false;
  wake_at_.reset();
  world_.Require(process_->turn.Load(world_.now()).ok(), "the store cannot be loaded at a start");
  WakeLater();
}

void Coordinator::Stop() {
  if (!accepts()) return;
  world_.Trace("coordinator", [] { return std::string("stops"); });
  stopping_ = true;
  process_->intake.BeginStop();
  WorkLater(0);
  // Longer than anything that was posted needs to arrive.
  world_.At(1'000 + 2 * world_.faults.delay, [this, life = life_] {
    if (life != life_ || !up()) return;
    stopped();
    Die();
  });
}

void Coordinator::Die() {
  if (!up()) return;
  world_.Trace("coordinator", [] { return std::string("dies"); });
  died();
  process_.reset();
  calls_.clear();
  cluster_ = nullptr;
  waiting_.clear();
  checker_.CoordinatorDied();
  if (world_.canary == Canary::kChangeOutcome || world_.canary == Canary::kLoseLease) {
    checker_.Spoil(&disk_);
  }
  world_.At(world_.Delay(20'000), [this] { Start(); });
}

void Coordinator::Call(core::Event event) {
  if (!accepts()) return;
  const core::CallId id = CallOf(event);
  auto call = std::make_unique<PendingCall>(this, id);
  process_->intake.PostCall(id, call.get(), std::move(event));
  calls_[id] = std::move(call);
  WorkLater(world_.Below(3));
}

void Coordinator::Post(const std::function<void(control::Intake*)>& what) {
  if (!up()) return;
  what(&process_->intake);
  WorkLater(world_.Below(3));
}

void Coordinator::StreamHasRoom(core::StreamId stream) {
  if (!up()) return;
  process_->fanout.board().StreamHasRoom(stream);
  process_->fanout.RunHere();
}

void Coordinator::WorkLater(core::Ms delay) {
  if (std::exchange(work_due_, true)) return;
  world_.At(delay, [this, life = life_] {
    if (life != life_ || !up()) return;
    work_due_ = false;
    Work();
  });
}

void Coordinator::WakeLater() {
  if (world_.canary == Canary::kNeverTick) return;
  const core::Ms due = std::max(process_->turn.NextDue(), world_.now());
  if (wake_at_ && *wake_at_ <= due) return;
  wake_at_ = due;
  const core::Ms late = world_.Chance(100) ? world_.Below(1'000) : 0;
  world_.At(due - world_.now() + late, [this, due, life = life_] {
    if (life != life_ || !up() || wake_at_ != due) return;
    wake_at_.reset();
    Work();
  });
}

void Coordinator::Work() {
  std::vector<control::Inbound> items;
  process_->intake.mailbox().Drain(&items, static_cast<std::size_t>(1 + world_.Below(8)));
  try {
    process_->turn.Run(&items, world_.now());
  } catch (const Death&) {
    // The fan-out's threads may have been quick or slow.
    if (world_.Chance(500)) process_->fanout.RunHere();
    return Die();
  }
  process_->fanout.RunHere();
  if (process_->intake.mailbox().Depth() != 0) WorkLater(0);
  WakeLater();
}

void Coordinator::MayDie(int permille) const {
  if (!world_.healed && world_.Chance(permille)) throw Death();
}

// --- What the turn does --------------------------------------------------------------------------

void Coordinator::Loaded(const core::cluster::Cluster& cluster) {
  cluster_ = &cluster;
  checker_.CoordinatorStarted(disk_);
  loaded(cluster.durable());
}

void Coordinator::BeforeStep(const core::Event& event, const core::cluster::Cluster& cluster) {
  world_.Trace("event", [&] { return Text(event); });
  checker_.BeforeStep(event, cluster.durable());
}

void Coordinator::AfterStep(const core::Event& event, const core::Output& batch, std::size_t record,
                            std::size_t effect, const core::cluster::Cluster& cluster) {
  // Ticks are not counted: there is one every second, however little happens.
  if (!std::holds_alternative<core::Ticked>(event)) ++world_.steps;
  checker_.Stepped(event, batch, record, effect, cluster);
  stepped(cluster.durable());
  waiting_.insert(waiting_.end(), batch.effects.begin() + static_cast<std::ptrdiff_t>(effect),
                  batch.effects.end());
  MayDie(world_.faults.coordinator_dies / 4);
}

void Coordinator::BeforeRelease(const core::Effect& effect) {
  MayDie(world_.faults.coordinator_dies / 4);
  waiting_.clear();
  checker_.Released(effect, disk_);
  if (const auto* defect = std::get_if<core::ReportDefect>(&effect)) world_.Fail(defect->text);
  released(effect);
  const bool again =
      (world_.canary == Canary::kAnswerTwice && std::holds_alternative<core::Answer>(effect)) ||
      (world_.canary == Canary::kNotifyTwice &&
       std::holds_alternative<core::PublishNotify>(effect));
  if (again) checker_.Released(effect, disk_);
}

void Coordinator::OnServing(bool serving) {
  world_.Trace("coordinator", [&] { return std::string(serving ? "serves" : "has an outage"); });
  if (serving) return;
  cluster_ = nullptr;
  waiting_.clear();
  checker_.CoordinatorDied();
  outage();
}

base::Status Coordinator::Commit(const std::vector<core::Record>& records) {
  MayDie(world_.faults.coordinator_dies);
  const bool broken = !world_.healed && world_.now() < broken_until_;
  const bool fails = broken || (!world_.healed && world_.Chance(world_.faults.commit_fails));
  // A failed commit may have reached the disk nevertheless.
  const bool applied = !fails || (!broken && world_.Chance(300));
  if (applied) {
    for (const core::Record& record : records) {
      checker_.Store(record, disk_);
      if (world_.canary == Canary::kDropRecord && world_.Chance(20)) continue;
      Apply(record, &disk_);
    }
  }
  if (fails) {
    if (!broken) broken_until_ = world_.now() + world_.Delay(10'000);
    if (world_.canary == Canary::kReleaseBeforeCommit) {
      for (const core::Effect& effect : waiting_) checker_.Released(effect, disk_);
    }
    return base::UnavailableError("the disk is full");
  }
  if (cluster_ != nullptr) {
    checker_.Compare(disk_, cluster_->durable());
    committed();
  }
  MayDie(world_.faults.coordinator_dies);
  return base::Status::Ok();
}

base::Result<core::Durable> Coordinator::Load() {
  if (!world_.healed && world_.now() < broken_until_) {
    return base::UnavailableError("the disk cannot be read");
  }
  return simulation::Load(disk_);
}

}  // namespace assay::simulation

#include "tests/simulation/coordinator.h"

#include <algorithm>
#include <utility>

#include "tests/simulation/trace.h"

namespace assay::simulation {

void Coordinator::Start() {
  if (up()) return;
  ++life_;
  world_.Trace("coordinator", [] { return std::string("starts"); });
  Load();
}

void Coordinator::Load() {
  core::Durable durable = simulation::Load(disk_);
  cluster_.emplace(world_.settings, std::move(durable), world_.now());
  checker_.CoordinatorStarted(disk_);
  loaded(cluster_->durable());
  tick_at_.reset();
  TickLater();
}

void Coordinator::Die() {
  if (!up()) return;
  world_.Trace("coordinator", [] { return std::string("dies"); });
  cluster_.reset();
  mailbox_.clear();
  work_due_ = false;
  tick_at_.reset();
  cut_all();
  checker_.CoordinatorDied();
  if (world_.canary == Canary::kChangeOutcome || world_.canary == Canary::kLoseLease) {
    checker_.Spoil(&disk_);
  }
  world_.At(world_.Delay(20'000), [this] { Start(); });
}

void Coordinator::Post(core::Event event) {
  if (!up()) return;
  mailbox_.push_back(std::move(event));
  WorkLater(world_.Below(3));
}

bool Coordinator::IsOfBefore(const core::Event& event) const {
  return std::visit(
      [this](const auto& one) {
        if constexpr (requires { one.stream; }) return one.stream < first_id_;
        if constexpr (requires { one.link; }) return one.link < first_id_;
        return false;
      },
      event);
}

void Coordinator::WorkLater(core::Ms delay) {
  if (std::exchange(work_due_, true)) return;
  world_.At(delay, [this, life = life_] {
    if (life != life_ || !up()) return;
    work_due_ = false;
    Work();
  });
}

void Coordinator::Work() {
  core::Output batch;
  int steps = 0;
  const std::int64_t most = 1 + world_.Below(8);
  for (std::int64_t i = 0; i < most && !mailbox_.empty(); ++i) {
    const core::Event event = std::move(mailbox_.front());
    mailbox_.pop_front();
    if (IsOfBefore(event)) continue;
    world_.Trace("event", [&] { return Text(event); });
    const std::size_t records = batch.records.size();
    const std::size_t effects = batch.effects.size();
    checker_.BeforeStep(event, cluster_->durable());
    cluster_->Step(event, world_.now(), &batch);
    ++steps;
    ++world_.steps;
    checker_.Stepped(event, batch, records, effects, *cluster_);
    stepped(cluster_->durable());
    if (!world_.healed && world_.Chance(world_.faults.coordinator_dies / 4)) return Die();
  }
  if (!mailbox_.empty()) WorkLater(0);
  if (steps == 0) return;
  if (!world_.healed && world_.Chance(world_.faults.coordinator_dies)) return Die();
  if (!Commit(batch.records)) {
    world_.Trace("coordinator", [] { return std::string("commit fails"); });
    if (world_.canary == Canary::kReleaseBeforeCommit) {
      for (const core::Effect& effect : batch.effects) checker_.Released(effect, disk_);
    }
    first_id_ = world_.NextId();
    cut_all();
    checker_.CoordinatorDied();
    Load();
    return;
  }
  checker_.Compare(disk_, cluster_->durable());
  committed();
  if (!world_.healed && world_.Chance(world_.faults.coordinator_dies)) return Die();
  const bool dies = !world_.healed && world_.Chance(world_.faults.coordinator_dies);
  std::int64_t left = dies ? world_.Below(static_cast<std::int64_t>(batch.effects.size())) : -1;
  for (const core::Effect& effect : batch.effects) {
    if (left-- == 0) return Die();
    checker_.Released(effect, disk_);
    release(effect);
    const bool again = (world_.canary == Canary::kAnswerTwice && effect.index() == 0) ||
                       (world_.canary == Canary::kNotifyTwice && effect.index() == 2);
    if (again) checker_.Released(effect, disk_);
  }
  TickLater();
}

bool Coordinator::Commit(const std::vector<core::Record>& records) {
  const bool fails = !world_.healed && world_.Chance(world_.faults.commit_fails);
  // A failed commit may have reached the disk nevertheless.
  if (fails && world_.Chance(700)) return false;
  for (const core::Record& record : records) {
    checker_.Store(record, disk_);
    if (world_.canary == Canary::kDropRecord && world_.Chance(20)) continue;
    Apply(record, &disk_);
  }
  return !fails;
}

void Coordinator::TickLater() {
  if (world_.canary == Canary::kNeverTick) return;
  const core::Ms due = std::max(cluster_->NextDeadline(world_.now()), world_.now());
  if (tick_at_ && *tick_at_ <= due) return;
  tick_at_ = due;
  const core::Ms late = world_.Chance(100) ? world_.Below(1'000) : 0;
  world_.At(due - world_.now() + late, [this, due, life = life_] {
    if (life != life_ || !up() || tick_at_ != due) return;
    tick_at_.reset();
    Post(core::Ticked{});
  });
}

}  // namespace assay::simulation

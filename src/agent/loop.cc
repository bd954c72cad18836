#include "agent/loop.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/wall_clock.h"

namespace assay::agent {
namespace {

constexpr std::size_t kInputsMax = 256;
constexpr core::Ms kWaitMost = 60'000;
constexpr core::Ms kRest = 500;  // an idle period at least this long allows spool housekeeping
// A longer oversleep counts as time in which the agent could not run.
constexpr core::Ms kOversleepMax = 1'000;

}  // namespace

AgentClock::AgentClock()
    : wall_at_start_(base::WallNow()), start_(std::chrono::steady_clock::now()) {}

core::Ms AgentClock::Now() const {
  return wall_at_start_ - excluded_ +
         std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                               start_)
             .count();
}

AgentLoop::AgentLoop(LoopOptions options, core::Node self, core::node::Spooled spooled,
                     LinkOptions link, WorkerSpec worker, store::Spool* spool,
                     std::shared_ptr<AgentInbox> inbox)
    : stop_grace_(options.stop_grace),
      inbox_(std::move(inbox)),
      spool_(spool),
      link_(std::move(link), inbox_),
      workers_(std::move(worker)),
      turn_(options.commit_timeout, std::move(self), std::move(spooled), &link_, &workers_,
            &spool_) {}

AgentLoop::~AgentLoop() = default;

void AgentLoop::Run() {
  while (true) {
    std::vector<core::node::NodeEvent> events;
    TakeInputs(&events);
    if (abandoned_) break;
    if (turn_.Step(std::move(events), clock_.Now())) memory_.Worked();
    turn_.Release(clock_.Now());
    if (turn_.finished()) break;
    Wait();
  }
  inbox_->Close();
}

void AgentLoop::TakeInputs(std::vector<core::node::NodeEvent>* events) {
  const core::Ms now = clock_.Now();
  inputs_.clear();
  inbox_->Drain(&inputs_, kInputsMax);
  for (const AgentInput& input : inputs_) {
    switch (input.kind) {
      case AgentInput::Kind::kStop:
        turn_.RequestStop(stop_grace_);
        break;
      case AgentInput::Kind::kForceStop:
        turn_.ForceStop();
        break;
      case AgentInput::Kind::kAbandon:
        abandoned_ = true;
        break;
      case AgentInput::Kind::kStreamRead:
      case AgentInput::Kind::kStreamWrote:
      case AgentInput::Kind::kStreamEnded:
        link_.Handle(input, now, events);
        break;
    }
  }
  link_.Tick(now, events);
}

void AgentLoop::Wait() {
  const core::Ms now = clock_.Now();
  core::Ms until = std::min(link_.NextDeadline(now), turn_.NextDeadline(now));
  if (turn_.serving() && until - now >= kRest) spool_.Idle();
  if (memory_.Due()) base::ReturnFreedMemory();
  if (memory_.pending()) until = std::min(until, now + kRest);
  const core::Ms planned = std::clamp(until - now, core::Ms{0}, kWaitMost);
  std::array<pollfd, 2> look{{{inbox_->wake_fd(), POLLIN, 0}, {workers_.poll_fd(), POLLIN, 0}}};
  poll(look.data(), turn_.takes_workers() ? 2 : 1, static_cast<int>(planned));
  const core::Ms overslept = clock_.Now() - now - planned;
  if (overslept < kOversleepMax) return;
  base::LogWarn("the agent could not run for " + std::to_string(overslept / 1000) +
                " s; extending its deadlines by the same time");
  clock_.Exclude(overslept);
}

}  // namespace assay::agent

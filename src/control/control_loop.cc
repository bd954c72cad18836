#include "control/control_loop.h"

#include <algorithm>
#include <utility>

#include "base/thread.h"
#include "base/wall_clock.h"

namespace assay::control {

ControlLoop::ControlLoop(const core::Settings& settings, Intake* intake, Fanout* fanout,
                         store::Storage* storage, std::function<void(bool)> serving)
    : intake_(intake),
      storage_(storage),
      wall_start_(base::WallNow()),
      steady_start_(std::chrono::steady_clock::now()),
      turn_(settings, fanout, storage, std::move(serving)) {}

core::Ms ControlLoop::Now() const {
  return wall_start_ + std::chrono::duration_cast<std::chrono::milliseconds>(
                           std::chrono::steady_clock::now() - steady_start_)
                           .count();
}

base::Status ControlLoop::Load() { return turn_.Load(Now()); }

base::Status ControlLoop::Start() {
  return base::StartThread(&thread_, "the control loop", "control", [this] { Run(); });
}

void ControlLoop::Join() {
  if (thread_.joinable()) thread_.join();
}

void ControlLoop::Run() {
  LoopMailbox& mailbox = intake_->mailbox();
  while (!mailbox.Drained()) {
    const bool news = mailbox.Wait(WaitMs());
    if (!news && !idle_reported_) {
      storage_->Idle();
      idle_reported_ = true;
    }
    if (mailbox.Drain(&items_, Turn::kItemsMax) != 0) memory_.Worked();
    if (turn_.Run(&items_, Now())) idle_reported_ = false;
    if (memory_.Due()) base::ReturnFreedMemory();
  }
}

int ControlLoop::WaitMs() const {
  return static_cast<int>(std::clamp<core::Ms>(turn_.NextDue() - Now(), 0, Turn::kTick));
}

}  // namespace assay::control

// The thread that owns the cluster's state. It waits for the mailbox, takes its items in batches
// and passes each batch to a turn (turn.h), which does the work. This file has only the thread, the
// wait, the clock and the housekeeping.
//
// Time starts at the wall clock and advances with the steady clock, so it never jumps while the
// process lives.
//
// Thread safety: Load, Start and Join from the thread that owns the coordinator; everything else
// runs on the loop's own thread.
#pragma once

#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "base/memory.h"
#include "base/status.h"
#include "control/fanout.h"
#include "control/intake.h"
#include "control/turn.h"
#include "core/settings.h"
#include "store/storage.h"

namespace assay::control {

class ControlLoop {
 public:
  // serving: called with false when an outage begins and with true when it ends; must not block for
  // long. The pointers outlive the loop.
  ControlLoop(const core::Settings& settings, Intake* intake, Fanout* fanout,
              store::Storage* storage, std::function<void(bool)> serving);

  // Loads the stored state. Call it before Start.
  base::Status Load();
  base::Status Start();
  // Returns when the intake's mailbox is closed and drained. Call Intake::BeginStop first.
  void Join();

 private:
  core::Ms Now() const;
  void Run();
  int WaitMs() const;

  Intake* const intake_;
  store::Storage* const storage_;
  const core::Ms wall_start_;
  const std::chrono::steady_clock::time_point steady_start_;
  Turn turn_;
  std::vector<Inbound> items_;  // reused
  bool idle_reported_ = false;  // the storage knows that there is no work
  base::MemoryTrimmer memory_;
  std::thread thread_;
};

}  // namespace assay::control

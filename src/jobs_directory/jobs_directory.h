// The jobs directory: creating, changing or removing a file ID.json applies, changes or deletes the
// job ID (docs/jobs.md).
//
// It watches the directory with inotify. It also scans the whole directory at the start, after an
// inotify overflow, when the directory was replaced, and every 10 seconds for changes that inotify
// does not report (other machines' writes on a network file system, the target of a symbolic link).
// It posts the resulting events to the control loop as any client's calls, a bounded number at a
// time. It works on its own thread and never opens a file in a way that could block.
//
// Thread safety: Start and Stop from the thread that owns the coordinator.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"
#include "control/intake.h"
#include "core/effect.h"
#include "jobs_directory/tracker.h"
#include "lockfree/mailbox.h"
#include "lockfree/wake_event.h"

namespace assay::jobs_directory {

class JobsDirectory {
 public:
  // The intake outlives this object. The control loop must answer until Stop has returned.
  JobsDirectory(std::string folder, control::Intake* intake);
  ~JobsDirectory() { Stop(); }
  JobsDirectory(const JobsDirectory&) = delete;
  JobsDirectory& operator=(const JobsDirectory&) = delete;

  // Fails when the system cannot create a thread. The directory need not exist yet.
  base::Status Start();
  // Stops watching and returns when all posted events are answered. May be called again.
  void Stop();

 private:
  class Order;
  struct Answered {
    std::string job;
    std::unique_ptr<core::Answer> answer;  // null: the call failed
  };

  void Run();
  void Watch(core::Ms now);
  bool Replaced() const;
  void Unwatch();
  void Scan(core::Ms now);
  void TakeNotices(core::Ms now);
  void TakeNotice(std::uint32_t mask, const char* name, core::Ms now);
  void TakeAnswers(core::Ms now);
  void LookAndTell(core::Ms now);
  FileFound Look(const std::string& name) const;
  void Tell(const std::string& job, core::Event&& event, core::Ms now);
  void Say(core::Ms now);
  int WaitMs(core::Ms now) const;
  void SayOnce(const std::string& text);
  void SayStrange(std::string_view name);

  const std::string folder_;
  control::Intake* const intake_;
  JobFileDesk desk_;
  lockfree::Mailbox<Answered> answers_;
  std::atomic<int> orders_{0};  // existing Order objects
  lockfree::WakeEvent stop_;
  std::atomic<bool> stopping_{false};

  base::UniqueFd inotify_;
  int watch_ = -1;
  base::UniqueFd directory_;  // open while the directory is watched or scanned
  core::Ms next_watch_ = 0;
  core::Ms next_scan_ = 0;
  std::string said_;                            // the last warning about the directory itself
  std::set<std::string, std::less<>> strange_;  // invalid file names that were logged

  std::thread thread_;
};

}  // namespace assay::jobs_directory

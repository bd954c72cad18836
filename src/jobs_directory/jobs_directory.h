// The jobs directory: a file ID.json that appears, changes, goes is a job that is applied, changed,
// deleted (docs/jobs.md).
//
// It looks with inotify, and at everything at its start, after an overflow, when the directory was
// replaced, and every few seconds for what inotify does not tell (other machines' writes on a
// network file system, what a symbolic link leads to). What it finds it says to the control loop as
// any caller does, a bounded number at once. Its work is done on a thread of its own; a file is
// never opened in a way that could block.
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
#include "control/intake.h"
#include "core/effect.h"
#include "jobs_directory/tracker.h"
#include "lockfree/mailbox.h"
#include "lockfree/wake_event.h"

namespace assay {

class JobsDirectory {
 public:
  // The intake outlives this object, and the control loop answers until Stop has returned.
  JobsDirectory(std::string folder, Intake* intake);
  ~JobsDirectory() { Stop(); }
  JobsDirectory(const JobsDirectory&) = delete;
  JobsDirectory& operator=(const JobsDirectory&) = delete;

  // Fails when the system gives no thread. The directory may come later.
  Status Start();
  // Ends the looking; returns when what was said is answered. May be called again.
  void Stop();

 private:
  class Order;
  struct Answered {
    std::string job;
    std::unique_ptr<Answer> answer;  // none: it failed
  };

  void Run();
  void Watch(Ms now);
  bool Replaced() const;
  void Unwatch();
  void Scan(Ms now);
  void TakeNotices(Ms now);
  void TakeNotice(std::uint32_t mask, const char* name, Ms now);
  void TakeAnswers(Ms now);
  void LookAndTell(Ms now);
  FileFound Look(const std::string& name) const;
  void Tell(const std::string& job, Event&& event, Ms now);
  void Say(Ms now);
  int WaitMs(Ms now) const;
  void SayOnce(const std::string& text);
  void SayStrange(std::string_view name);

  const std::string folder_;
  Intake* const intake_;
  JobFileDesk desk_;
  Mailbox<Answered> answers_;
  std::atomic<int> orders_{0};  // whose objects are not gone
  WakeEvent stop_;
  std::atomic<bool> stopping_{false};

  int inotify_ = -1;
  int watch_ = -1;
  int directory_ = -1;  // open while it is watched
  Ms next_watch_ = 0;
  Ms next_scan_ = 0;
  std::string said_;                            // of the directory itself
  std::set<std::string, std::less<>> strange_;  // names that were said

  std::thread thread_;
};

}  // namespace assay

#include "jobs_directory/jobs_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>
#include <variant>

#include "base/ids.h"
#include "base/log.h"
#include "base/read_file.h"
#include "base/steady_clock.h"
#include "base/text.h"
#include "base/thread.h"

namespace assay::jobs_directory {
namespace {

constexpr core::Ms kWatchRetry = 1000;
constexpr core::Ms kScanEvery = 10'000;
constexpr core::Ms kModifiedDelay = 200;  // so that a file is not read after every single write
constexpr int kLooksAtOnce = 64;          // files read before answers and notices are handled again
constexpr std::string_view kSuffix = ".json";
constexpr std::uint32_t kMask = IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_TO |
                                IN_MOVED_FROM | IN_DELETE | IN_ATTRIB | IN_DELETE_SELF |
                                IN_MOVE_SELF | IN_ONLYDIR;

std::string Why() { return std::strerror(errno); }

// The file name without ".json"; "": the name is hidden or ends differently and is ignored.
std::string_view MeantBy(std::string_view name) {
  if (name.size() <= kSuffix.size() || name.front() == '.' || !name.ends_with(kSuffix)) return "";
  return name.substr(0, name.size() - kSuffix.size());
}

// The job that a file of that name describes; "": none.
std::string JobOf(std::string_view name) {
  const std::string_view id = MeantBy(name);
  return base::IdProblem("job", id) ? "" : std::string(id);
}

FileStamp StampOf(const struct stat& file) {
  const auto ns = [](const timespec& time) {
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
  };
  return {file.st_dev, file.st_ino, file.st_size, ns(file.st_mtim), ns(file.st_ctim)};
}

void SetCall(core::CallId call, core::Event* event) {
  const core::Caller caller{"the jobs directory", "coordinator", core::Transport::kInProcess};
  std::visit(
      [&](auto& order) {
        using Kind = std::decay_t<decltype(order)>;
        if constexpr (std::is_same_v<Kind, core::JobApplied> ||
                      std::is_same_v<Kind, core::JobFileGone> ||
                      std::is_same_v<Kind, core::JobFilesListed>) {
          order.call = call;
          order.caller = caller;
        }
      },
      *event);
}

FileFound Unreadable(const FileStamp& stamp, std::string why) {
  return {FileFound::Kind::kUnreadable, stamp, std::move(why)};
}

}  // namespace

// An event posted to the control loop. The directory's thread creates it, the loop's thread answers
// it; it deletes itself.
class JobsDirectory::Order final : public control::PendingCall {
 public:
  Order(JobsDirectory* directory, std::string job, control::Admission&& admission)
      : directory_(directory), job_(std::move(job)), admission_(std::move(admission)) {
    directory->orders_.fetch_add(1, std::memory_order_relaxed);
  }

  void Answered(core::Answer&& answer) override {
    End(std::make_unique<core::Answer>(std::move(answer)));
  }
  void Failed(const base::Status&) override { End(nullptr); }

 private:
  ~Order() = default;
  void End(std::unique_ptr<core::Answer> answer) {
    JobsDirectory* const directory = directory_;
    const control::Admission admission = std::move(admission_);  // released last
    (void)directory->answers_.Post({std::move(job_), std::move(answer)});
    delete this;
    // Stop waits for this count, too: when it has seen the answer, this thread may still be inside
    // Post of the directory's mailbox.
    directory->orders_.fetch_sub(1, std::memory_order_release);
  }

  JobsDirectory* const directory_;
  std::string job_;
  control::Admission admission_;
};

JobsDirectory::JobsDirectory(std::string folder, control::Intake* intake)
    : folder_(std::move(folder)), intake_(intake), desk_(folder_) {}

base::Status JobsDirectory::Start() {
  inotify_ = base::UniqueFd(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!inotify_.valid()) {
    base::LogWarn("jobs directory " + folder_ + ": cannot watch for changes (" + Why() +
                  "; see fs.inotify.max_user_instances); scanning it every " +
                  base::Seconds(kScanEvery) + " instead");
  }
  return base::StartThread(&thread_, "the jobs directory", "jobs-directory", [this] { Run(); });
}

void JobsDirectory::Stop() {
  stopping_.store(true);
  stop_.Signal();
  if (thread_.joinable()) thread_.join();
  Unwatch();
  inotify_.Reset();
}

void JobsDirectory::Run() {
  while (!stopping_.load()) {
    const core::Ms now = base::SteadyNow();
    Watch(now);
    if (directory_.valid() && now >= next_scan_) Scan(now);
    TakeAnswers(now);
    LookAndTell(now);
    Say(now);
    pollfd fds[] = {{stop_.fd(), POLLIN, 0},
                    {answers_.wake_fd(), POLLIN, 0},
                    {directory_.valid() ? inotify_.get() : -1, POLLIN, 0}};
    (void)poll(fds, 3, WaitMs(now));
    TakeNotices(base::SteadyNow());
  }
  // Wait until the loop has answered every posted event: no answer may reach a deleted object.
  while (desk_.under_way() != 0) {
    (void)answers_.Wait(-1);
    TakeAnswers(base::SteadyNow());
  }
  while (orders_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
}

int JobsDirectory::WaitMs(core::Ms now) const {
  if (!directory_.valid())
    return static_cast<int>(std::clamp<core::Ms>(next_watch_ - now, 0, kWatchRetry));
  core::Ms next = next_scan_;
  if (const auto due = desk_.NextDue()) next = std::min(next, *due);
  return static_cast<int>(std::clamp<core::Ms>(next - now, 0, kScanEvery));
}

void JobsDirectory::Say(core::Ms now) {
  for (const JobFileDesk::Line& line : desk_.TakeLines(now)) {
    Log(line.warning ? base::LogLevel::kWarn : base::LogLevel::kInfo, line.text);
  }
}

void JobsDirectory::SayOnce(const std::string& text) {
  if (said_ == text) return;
  said_ = text;
  base::LogWarn("jobs directory " + folder_ + ": " + text);
}

// Logs, once per name and for at most kSaid names, a file whose name is not a valid job id.
void JobsDirectory::SayStrange(std::string_view name) {
  constexpr std::size_t kSaid = 100;
  const std::string_view id = MeantBy(name);
  if (id.empty() || strange_.size() == kSaid || !strange_.emplace(name).second) return;
  const auto problem = base::IdProblem("job", id);
  base::LogWarn("jobs directory " + folder_ + ": file " + base::Quoted(name) +
                " is ignored: " + problem.value_or(""));
}

// --- The directory itself ---

void JobsDirectory::Watch(core::Ms now) {
  if (directory_.valid() || now < next_watch_) return;
  next_watch_ = now + kWatchRetry;
  base::UniqueFd directory(open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC));
  if (!directory.valid()) {
    return SayOnce("cannot be opened: " + Why() +
                   "; its jobs stay unchanged; retrying every second");
  }
  if (inotify_.valid()) {
    watch_ = inotify_add_watch(inotify_.get(), folder_.c_str(), kMask);
    if (watch_ < 0) {
      base::LogWarn("jobs directory " + folder_ + ": cannot watch for changes (" + Why() +
                    "; see fs.inotify.max_user_watches); scanning it every " +
                    base::Seconds(kScanEvery));
    }
  }
  directory_ = std::move(directory);
  next_scan_ = now;
  if (!std::exchange(said_, {}).empty())
    base::LogInfo("jobs directory " + folder_ + " is available");
}

void JobsDirectory::Unwatch() {
  if (watch_ >= 0) (void)inotify_rm_watch(inotify_.get(), std::exchange(watch_, -1));
  directory_.Reset();
}

// True: the path leads to another directory than the open one, or to none.
bool JobsDirectory::Replaced() const {
  struct stat open_one {};
  struct stat named {};
  return fstat(directory_.get(), &open_one) != 0 || stat(folder_.c_str(), &named) != 0 ||
         open_one.st_dev != named.st_dev || open_one.st_ino != named.st_ino;
}

void JobsDirectory::Scan(core::Ms now) {
  if (Replaced()) {
    Unwatch();
    next_watch_ = now;
    return Watch(now);
  }
  next_scan_ = now + kScanEvery;
  base::UniqueFd again(openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* const listing = again.valid() ? fdopendir(again.get()) : nullptr;
  if (listing == nullptr) {
    SayOnce("cannot be read: " + Why() + "; its jobs stay unchanged");
    return;
  }
  (void)again.Release();  // closedir() closes it
  std::vector<FileSeen> files;
  errno = 0;
  while (const dirent* const entry = readdir(listing)) {
    std::string job = JobOf(entry->d_name);
    if (job.empty()) SayStrange(entry->d_name);
    struct stat file {};
    if (job.empty() || fstatat(directory_.get(), entry->d_name, &file, 0) != 0) {
      // A dangling symbolic link counts as an absent file.
      errno = 0;
      continue;
    }
    files.push_back({std::move(job), StampOf(file)});
  }
  const bool whole = errno == 0;
  if (!whole) SayOnce("cannot be read: " + Why() + "; its jobs stay unchanged");
  closedir(listing);
  if (!whole) return;
  said_.clear();
  desk_.Scanned(files, now);
}

void JobsDirectory::TakeNotices(core::Ms now) {
  if (!inotify_.valid()) return;
  alignas(inotify_event) std::array<char, 64 * 1024> buffer;
  for (;;) {
    const ssize_t got = read(inotify_.get(), buffer.data(), buffer.size());
    if (got <= 0) return;
    for (const char* at = buffer.data(); at < buffer.data() + got;) {
      inotify_event event;
      std::memcpy(&event, at, sizeof event);
      // Ignore events of an earlier watch.
      if (event.wd == watch_ || (event.mask & IN_Q_OVERFLOW) != 0) {
        TakeNotice(event.mask, event.len > 0 ? at + sizeof event : "", now);
      }
      at += sizeof event + event.len;
    }
  }
}

void JobsDirectory::TakeNotice(std::uint32_t mask, const char* name, core::Ms now) {
  if ((mask & (IN_IGNORED | IN_UNMOUNT | IN_DELETE_SELF | IN_MOVE_SELF)) != 0) {
    if ((mask & IN_IGNORED) != 0) watch_ = -1;
    Unwatch();
    next_watch_ = now;
    return;
  }
  if ((mask & IN_Q_OVERFLOW) != 0) {
    next_scan_ = now;
    return;
  }
  const std::string job = JobOf(name);
  if (job.empty()) return;
  desk_.Noticed(job, now, (mask & (IN_MODIFY | IN_CREATE)) != 0 ? kModifiedDelay : 0);
}

// --- Its files ---

FileFound JobsDirectory::Look(const std::string& name) const {
  constexpr std::size_t kMax = rank_table::RankTableLimits().bytes;
  struct stat file {};
  // Check the type before opening: opening a device may have side effects.
  if (fstatat(directory_.get(), name.c_str(), &file, 0) != 0) {
    if (errno == ENOENT) return {};
    return Unreadable({}, "cannot be examined: " + Why());
  }
  if (!S_ISREG(file.st_mode)) return Unreadable(StampOf(file), "is not a regular file");
  const base::UniqueFd opened(
      openat(directory_.get(), name.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!opened.valid()) {
    if (errno == ENOENT) return {};
    return Unreadable(StampOf(file), "cannot be opened: " + Why());
  }
  FileFound found{FileFound::Kind::kText, {}, ""};
  std::string wrong;
  if (fstat(opened.get(), &file) != 0 || !S_ISREG(file.st_mode)) {
    wrong = "is not a regular file";
  } else if (static_cast<std::uint64_t>(file.st_size) > kMax) {
    wrong = "has " + std::to_string(file.st_size) + " bytes, more than the limit of " +
            std::to_string(kMax);
  } else if (const int error = base::ReadToEnd(opened.get(), kMax, &found.text)) {
    wrong = std::string("cannot be read: ") + std::strerror(error);
  }
  if (!wrong.empty()) return Unreadable(StampOf(file), std::move(wrong));
  found.stamp = StampOf(file);
  return found;
}

void JobsDirectory::LookAndTell(core::Ms now) {
  if (!directory_.valid()) return;
  if (auto listing = desk_.Listing(now)) Tell("", std::move(*listing), now);
  for (int looks = 0; looks < kLooksAtOnce && !stopping_.load(); ++looks) {
    const std::optional<std::string> job = desk_.Next(now);
    if (!job) return;
    FileFound found = Look(*job + std::string(kSuffix));
    if (auto order = desk_.Looked(*job, std::move(found), now)) Tell(*job, std::move(*order), now);
  }
}

void JobsDirectory::Tell(const std::string& job, core::Event&& event, core::Ms now) {
  base::Result<control::Admission> admission = intake_->Admit({.command = true});
  if (!admission.ok()) return desk_.Failed(job, now);
  const core::CallId call = intake_->NextId();
  SetCall(call, &event);
  intake_->PostCall(call, new Order(this, job, std::move(*admission)), std::move(event));
}

void JobsDirectory::TakeAnswers(core::Ms now) {
  std::vector<Answered> answers;
  answers_.Drain(&answers, 1000);
  for (Answered& answered : answers) {
    if (answered.answer != nullptr) {
      desk_.Answered(answered.job, *answered.answer, now);
    } else {
      desk_.Failed(answered.job, now);
    }
  }
}

}  // namespace assay::jobs_directory

#include "cli/watch/watch_command.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "base/wall_clock.h"
#include "cli/client.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/table.h"
#include "cli/watch/job_feed.h"
#include "cli/watch/job_rows.h"
#include "cli/watch/known_jobs.h"
#include "cli/watch/live_screen.h"

namespace assay::cli::watch {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using Kind = JobFeed::News::Kind;

constexpr char kCommand[] = "assay watch jobs";
constexpr milliseconds kFrame{100};      // minimum time between redraws
constexpr milliseconds kAging{1000};     // maximum time between redraws, to update the ages
constexpr milliseconds kNoneWait{1000};  // until AnyJob() is called when no signal arrives
constexpr milliseconds kLook{200};       // how often interrupts and the pipe's reader are checked

constexpr char kDetails[] =
    "On a terminal: a live table of the jobs, the last changes of state first; q or Ctrl-C ends\n"
    "it. SINCE is the time in the current state. If that state began before the command and the\n"
    "job has not ended, it is the time since the job began. A deleted job is shown for 10 s.\n\n"
    "In a pipe, or with --json: one JSON object per line for each signal, with the fields of\n"
    "ClusterD's JobSummarySignal as on the wire (HcclJson is a string). The present jobs and the\n"
    "jobs deleted within the last hour (operator delete) come first, then each change. The\n"
    "command ends when the reader closes the pipe.\n\n"
    "If the connection to the coordinator is lost, the command reports it once and reconnects.\n"
    "All present jobs then come again. In JSON, a job whose deletion was missed meanwhile is a\n"
    "line with operator delete and no deleteTime.\n\n"
    "Exit status: 0 ended on request (by a key, a signal or the reader of the pipe), 1 usage,\n"
    "connection or refusal; with --once 128 + the signal's number if a signal ended it.\n\n"
    "Examples:\n"
    "  assay watch jobs\n"
    "  assay watch jobs --json | jq -r 'select(.jobStatus == \"failed\") | .jobId'\n"
    "  assay watch jobs --once --json | jq -s length";

struct Wanted {
  ClientFlags client;
  std::string role = "DefaultUser1";
  bool once = false;
};

void Say(const std::string& text) { cli::Say(kCommand, text); }

std::string JsonLine(const job::JobSummarySignal& signal) {
  const Json json{{"uuid", signal.uuid()},
                  {"jobId", signal.jobid()},
                  {"jobName", signal.jobname()},
                  {"namespace", signal.namespace_()},
                  {"frameWork", signal.framework()},
                  {"jobStatus", signal.jobstatus()},
                  {"time", signal.time()},
                  {"cmIndex", signal.cmindex()},
                  {"total", signal.total()},
                  {"HcclJson", signal.hccljson()},
                  {"deleteTime", signal.deletetime()},
                  {"sharedTorIp", signal.sharedtorip()},
                  {"masterAddr", signal.masteraddr()},
                  {"operator", signal.operator_()},
                  {"sid", signal.sid()}};
  return JsonText(json, -1) + '\n';
}

// Writes whole lines to standard output, which may be a pipe that its reader closes.
class LineOutput {
 public:
  // Returns false if the command must end, with exit_status().
  bool Write(std::string_view lines) {
    while (!lines.empty()) {
      const ssize_t wrote = write(STDOUT_FILENO, lines.data(), lines.size());
      if (wrote > 0) lines.remove_prefix(static_cast<std::size_t>(wrote));
      if (wrote >= 0) continue;
      if (errno == EINTR && !Interrupted()) continue;
      if (errno == EAGAIN) {
        pollfd wait{STDOUT_FILENO, POLLOUT, 0};
        poll(&wait, 1, static_cast<int>(kLook.count()));
        if (!Interrupted()) continue;
      }
      if (errno == EPIPE || Interrupted()) return false;
      Say(std::string("standard output: ") + std::strerror(errno));
      exit_status_ = flags::kExitFailed;
      return false;
    }
    return true;
  }
  // Detects a closed pipe without a write.
  static bool ReaderIsGone() {
    pollfd look{STDOUT_FILENO, 0, 0};
    return poll(&look, 1, 0) == 1 && (look.revents & (POLLERR | POLLNVAL)) != 0;
  }
  int exit_status() const { return exit_status_; }

 private:
  int exit_status_ = flags::kExitOk;
};

// Reports on standard error when the connection is lost and when it is back, each once.
class ConnectionTalk {
 public:
  void Lost(const base::Status& why) {
    if (!away_) Say(why.text() + "; waiting for it");
    away_ = true;
  }
  void Connected() {
    if (away_) Say("the coordinator is back");
    away_ = false;
  }

 private:
  bool away_ = false;
};

// Whether there is any job. A snapshot without jobs sends no message, so this call is the only way
// to detect its end. REQUIRES: subscribed; a job found now is then in the snapshot or follows it.
base::Result<bool> AnyJob(const Wanted& wanted) {
  admin::ListJobsRequest request;
  request.set_limit(1);
  // Its own connection, because an old one may have been lost together with the subscription.
  Client client(wanted.client.coordinator);
  const auto page = client.Call(&admin::Admin::Stub::PrepareAsyncListJobs, request);
  if (!page.ok()) return page.status();
  return !page->jobs().empty();
}

// Prints every signal as a line and, after a new connection, one line for each job that was deleted
// unnoticed.
class LineFeed {
 public:
  explicit LineFeed(const Wanted& wanted)
      : wanted_(wanted), feed_(wanted.client.coordinator, wanted.role) {}

  int Run() {
    while (!Interrupted() && !LineOutput::ReaderIsGone()) {
      JobFeed::News news = feed_.Next(kLook);
      if (news.kind == Kind::kFailed) return Fail(kCommand, news.status);
      if (!output_.Write(Take(&news))) return output_.exit_status();
    }
    return flags::kExitOk;
  }

 private:
  // Returns the lines to print for the news.
  std::string Take(JobFeed::News* news) {
    switch (news->kind) {
      case Kind::kConnected:
        talk_.Connected();
        snapshot_ = SnapshotCount();
        jobs_.BeginSnapshot();
        ask_at_ = jobs_.size() == 0 ? kNever : Clock::now() + kNoneWait;
        return "";
      case Kind::kLost:
        talk_.Lost(news->status);
        ask_at_ = kNever;
        return "";
      case Kind::kSignals:
        ask_at_ = kNever;
        return TakeSignals(&news->list);
      case Kind::kNothing:
      case Kind::kFailed:
        break;
    }
    if (Clock::now() < ask_at_) return "";
    const base::Result<bool> any = AnyJob(wanted_);
    ask_at_ = any.ok() ? kNever : Clock::now() + kNoneWait;
    return any.ok() && !*any ? LinesOfGone() : "";
  }

  std::string TakeSignals(job::JobSummarySignalList* list) {
    const bool in_snapshot = !snapshot_.complete();
    snapshot_.Add(*list);
    std::string lines;
    for (job::JobSummarySignal& signal : *list->mutable_jobsummarysignals()) {
      lines += JsonLine(signal);
      jobs_.Apply(std::move(signal));
    }
    if (in_snapshot && snapshot_.complete()) lines += LinesOfGone();
    return lines;
  }

  std::string LinesOfGone() {
    std::string lines;
    for (const job::JobSummarySignal& signal : jobs_.EndSnapshot()) lines += JsonLine(signal);
    return lines;
  }

  static constexpr Clock::time_point kNever = Clock::time_point::max();

  const Wanted wanted_;
  JobFeed feed_;
  LineOutput output_;
  ConnectionTalk talk_;
  KnownJobs jobs_;
  SnapshotCount snapshot_;
  Clock::time_point ask_at_ = kNever;  // when to call AnyJob(), unless a signal arrives first
};

int PrintOnce(const std::map<std::string, job::JobSummarySignal>& jobs, bool as_table) {
  if (!as_table) {
    LineOutput output;
    std::string lines;
    for (const auto& [id, signal] : jobs) lines += JsonLine(signal);
    output.Write(lines);
    return output.exit_status();
  }
  JobRows rows;
  for (const auto& [id, signal] : jobs) rows.Apply(signal, true, base::WallNow());
  for (const JobRows::Line& line :
       rows.Lines(jobs.size() + 2, std::string::npos, base::WallNow())) {
    Print(line.text + "\n");
  }
  return flags::kExitOk;
}

int PrintPresent(const Wanted& wanted, bool as_table) {
  JobFeed feed(wanted.client.coordinator, wanted.role);
  SnapshotCount snapshot;
  std::map<std::string, job::JobSummarySignal> jobs;
  while (!snapshot.complete()) {
    JobFeed::News news = feed.Next(kLook);
    if (news.kind == Kind::kFailed || news.kind == Kind::kLost) return Fail(kCommand, news.status);
    if (news.kind == Kind::kConnected) {
      const base::Result<bool> any = AnyJob(wanted);
      if (!any.ok()) return Fail(kCommand, any.status());
      if (!*any) break;
    }
    if (news.kind != Kind::kSignals) continue;
    snapshot.Add(news.list);
    for (job::JobSummarySignal& signal : *news.list.mutable_jobsummarysignals()) {
      if (signal.operator_() == "delete") {
        jobs.erase(signal.jobid());
      } else {
        jobs[signal.jobid()] = std::move(signal);
      }
    }
  }
  return PrintOnce(jobs, as_table);
}

class LiveTable {
 public:
  explicit LiveTable(const Wanted& wanted)
      : wanted_(wanted),
        feed_(wanted.client.coordinator, wanted.role),
        address_(CoordinatorAddress(wanted.client.coordinator)) {}

  int Run() {
    while (!Interrupted()) {
      const JobFeed::News news = feed_.Next(std::clamp(Due(), milliseconds(0), kFrame));
      if (news.kind == Kind::kFailed) {
        screen_.Leave();
        return Fail(kCommand, news.status);
      }
      Take(news);
      if (TakeStopWish()) {
        screen_.Leave();
        StopHere();
        if (begun_) screen_.Enter();
        changed_ = true;
      }
      if (const char key = screen_.Key(); key == 'q' || key == 'Q') break;
      if (begun_ && Due() <= milliseconds(0)) Draw();
    }
    return flags::kExitOk;
  }

 private:
  void Take(const JobFeed::News& news) {
    switch (news.kind) {
      case Kind::kConnected: {
        if (!begun_) screen_.Enter();
        begun_ = true;
        away_.clear();
        snapshot_ = SnapshotCount();
        rows_.BeginSnapshot();
        const base::Result<bool> any = AnyJob(wanted_);
        if (any.ok() && !*any) rows_.EndSnapshot();
        break;
      }
      case Kind::kSignals:
        TakeSignals(news.list);
        break;
      case Kind::kLost:
        away_ = news.status.text();
        break;
      case Kind::kNothing:
      case Kind::kFailed:
        return;
    }
    changed_ = true;
  }

  void TakeSignals(const job::JobSummarySignalList& list) {
    const bool in_snapshot = !snapshot_.complete();
    snapshot_.Add(list);
    const std::int64_t now = base::WallNow();
    for (const auto& signal : list.jobsummarysignals()) rows_.Apply(signal, in_snapshot, now);
    if (in_snapshot && snapshot_.complete()) rows_.EndSnapshot();
  }

  // Time until the next redraw.
  milliseconds Due() const {
    const auto next = drawn_ + (changed_ ? kFrame : kAging);
    return std::chrono::ceil<milliseconds>(next - Clock::now());
  }

  void Draw() {
    const LiveScreen::Size size = screen_.size();
    rows_.Fade(base::WallNow());
    std::string head = kCommand + std::string(" on ") + base::Shown(address_);
    if (!away_.empty()) head = away_ + "; waiting for it";
    head = Fitted(Visible(head), size.columns);
    std::string page = "\x1b[7m" + head + "\x1b[0m\x1b[K";
    for (const JobRows::Line& line : rows_.Lines(size.rows - 1, size.columns, base::WallNow())) {
      page += "\r\n";
      page += line.faint ? "\x1b[2m" + line.text + "\x1b[0m" : line.text;
      page += "\x1b[K";
    }
    screen_.Draw(page);
    changed_ = false;
    drawn_ = Clock::now();
  }

  const Wanted wanted_;
  JobFeed feed_;
  const std::string address_;
  LiveScreen screen_{STDIN_FILENO, STDOUT_FILENO};
  JobRows rows_;
  SnapshotCount snapshot_;
  bool begun_ = false;   // connected at least once: the screen is entered
  std::string away_;     // why there is no connection; "" while there is one
  bool changed_ = true;  // since the last redraw
  Clock::time_point drawn_{};
};

// Whether the terminal can position the cursor. REQUIRES: standard output is a terminal.
bool CanBeDrawnOn() {
  const char* const kind = std::getenv("TERM");
  return kind != nullptr && std::string_view(kind) != "dumb";
}

}  // namespace

int WatchJobs(Args args) {
  Wanted wanted;
  flags::Flags flags(
      kCommand, "Watch the states of the jobs, as subscribed platforms receive them.", kDetails);
  wanted.client.Declare(&flags, "print JSON lines, even on a terminal");
  flags
      .Text("client-role", &wanted.role, "ROLE",
            "subscribe as this one of the coordinator's --job-roles (DefaultUser1)")
      .Switch("once", &wanted.once, "print the present jobs and exit");
  if (const auto status = flags.Parse(std::move(args))) return *status;
  signal(SIGPIPE, SIG_IGN);
  const bool as_table = !wanted.client.json && isatty(STDOUT_FILENO) == 1;
  if (wanted.once) return PrintPresent(wanted, as_table);
  CatchEndings();
  if (!as_table || !CanBeDrawnOn()) return LineFeed(wanted).Run();
  CatchStopWishes();
  return LiveTable(wanted).Run();
}

}  // namespace assay::cli::watch

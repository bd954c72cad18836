#include "cli/watch/job_feed.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>

#include "base/text.h"
#include "cli/client.h"
#include "job.grpc.pb.h"

namespace assay::cli::watch {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using Kind = JobFeed::News::Kind;

constexpr milliseconds kPauseMin{200};
// A coordinator that is back is noticed within a second.
constexpr milliseconds kPauseMax{500};
// The same after a refusal, such as that of too many subscriptions, which lasts longer.
constexpr milliseconds kRefusedPauseMax{5000};
// Time from the metadata until a stream counts as connected. A refused stream has metadata, too,
// but its end arrives together with them.
constexpr milliseconds kSettle{100};
constexpr int kRegistered = 200;  // docs/wire.md 3

// Whether a retry cannot fix the error.
bool IsFinal(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::UNIMPLEMENTED:
    case grpc::StatusCode::INVALID_ARGUMENT:
      return true;
    default:
      return false;
  }
}

}  // namespace

class JobFeed::Impl {
 public:
  Impl(const std::string& coordinator, std::string role)
      : address_(CoordinatorAddress(coordinator)), role_(std::move(role)) {}

  ~Impl() {
    if (context_) context_->TryCancel();
    queue_.Shutdown();
    void* tag = nullptr;
    for (bool ok = false; queue_.Next(&tag, &ok);) {
    }
  }

  News Next(milliseconds timeout) {
    const auto end = Clock::now() + timeout;
    while (true) {
      if (step_ == Step::kFailed) return {};
      if (held_.has_value()) return *std::exchange(held_, std::nullopt);
      if (settled_ != kNever && Clock::now() >= settled_) return Connected();
      if (step_ == Step::kPause) {
        if (!Pause(end)) return {};
        Begin();
      }
      void* tag = nullptr;
      bool ok = false;
      const auto left = std::max(milliseconds(0), Left(std::min(end, settled_)));
      const auto got = queue_.AsyncNext(&tag, &ok, std::chrono::system_clock::now() + left);
      if (got != grpc::CompletionQueue::GOT_EVENT) {
        if (settled_ <= end) continue;
        return {};
      }
      News news = Happened(ok);
      if (news.kind != Kind::kNothing) return news;
    }
  }

 private:
  // The operation in progress, at most one. There is none in kPause and kFailed.
  enum class Step { kPause, kRegister, kStart, kMetadata, kRead, kFinish, kFailed };

  static milliseconds Left(Clock::time_point end) {
    return std::chrono::duration_cast<milliseconds>(end - Clock::now());
  }

  // Sleeps until the next attempt, at most until `end`. Returns whether the attempt is due.
  bool Pause(Clock::time_point end) {
    const bool whole = next_try_ <= end;
    std::this_thread::sleep_until(std::min(end, next_try_));
    return whole;
  }

  void Begin() {
    // Destroyed first: both live in the memory of the call, which is freed with the context.
    register_.reset();
    reader_.reset();
    if (!stub_) stub_ = job::Job::NewStub(ChannelTo(address_, connected_));
    context_ = std::make_unique<grpc::ClientContext>();
    job::ClientInfo info;
    info.set_role(role_);
    if (client_id_.empty()) {
      context_->set_deadline(std::chrono::system_clock::now() +
                             std::chrono::seconds(kDeadlineSeconds));
      step_ = Step::kRegister;
      answer_.Clear();
      register_ = stub_->PrepareAsyncRegister(context_.get(), info, &queue_);
      register_->StartCall();
      register_->Finish(&answer_, &status_, this);
      return;
    }
    info.set_clientid(client_id_);
    step_ = Step::kStart;
    reader_ = stub_->PrepareAsyncSubscribeJobSummarySignalList(context_.get(), info, &queue_);
    reader_->StartCall(this);
  }

  // Handles the end of the operation in progress.
  News Happened(bool ok) {
    switch (step_) {
      case Step::kRegister:
        return Registered();
      case Step::kStart:
        if (!ok) return Finish();
        step_ = Step::kMetadata;
        reader_->ReadInitialMetadata(this);
        return {};
      case Step::kMetadata:
        if (!ok) return Finish();
        step_ = Step::kRead;
        reader_->Read(&list_, this);
        settled_ = Clock::now() + kSettle;
        return {};
      case Step::kRead: {
        if (!ok) return Finish();
        News news = NewsOf(Kind::kSignals);
        news.list.Swap(&list_);
        list_.Clear();
        reader_->Read(&list_, this);
        if (settled_ == kNever) return news;
        held_ = std::move(news);
        return Connected();
      }
      case Step::kFinish:
        return Ended();
      case Step::kPause:
      case Step::kFailed:
        break;
    }
    return {};
  }

  News Connected() {
    settled_ = kNever;
    connected_ = true;
    anew_ = false;
    pause_ = kPauseMin;
    return NewsOf(Kind::kConnected);
  }

  News Finish() {
    settled_ = kNever;
    step_ = Step::kFinish;
    reader_->Finish(&status_, this);
    return {};
  }

  News Registered() {
    if (!status_.ok()) return Lost();
    if (answer_.code() == kRegistered && !answer_.clientid().empty()) {
      client_id_ = answer_.clientid();
      Begin();
      return {};
    }
    status_ = grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                           std::to_string(answer_.code()) + " " + answer_.info());
    return Lost();
  }

  News Ended() {
    if (status_.ok()) status_ = grpc::Status(grpc::StatusCode::UNAVAILABLE, "the stream ended");
    // The coordinator has restarted, or has dropped the id after a long time without a stream.
    // Register again immediately, but only once.
    const bool forgotten = status_.error_code() == grpc::StatusCode::NOT_FOUND;
    if (forgotten || status_.error_code() == grpc::StatusCode::ABORTED) client_id_.clear();
    if (forgotten && connected_ && !std::exchange(anew_, true)) {
      Begin();
      return {};
    }
    return Lost();
  }

  News Lost() {
    News news;
    news.status = ExplainCall(address_, status_);
    if (!connected_ || IsFinal(status_.error_code())) {
      step_ = Step::kFailed;
      news.kind = Kind::kFailed;
      return news;
    }
    step_ = Step::kPause;
    next_try_ = Clock::now() + pause_;
    const bool away = news.status.code() == base::Code::kUnavailable;
    pause_ = std::min(pause_ * 2, away ? kPauseMax : kRefusedPauseMax);
    if (away) stub_.reset();
    news.kind = Kind::kLost;
    return news;
  }

  static News NewsOf(Kind kind) {
    News news;
    news.kind = kind;
    return news;
  }

  static constexpr Clock::time_point kNever = Clock::time_point::max();

  const std::string address_;
  const std::string role_;
  std::unique_ptr<job::Job::Stub> stub_;  // of a new channel after a lost connection
  grpc::CompletionQueue queue_;
  Step step_ = Step::kPause;
  Clock::time_point next_try_ = Clock::now();
  milliseconds pause_ = kPauseMin;
  bool connected_ = false;              // at least once
  bool anew_ = false;                   // registered again since the last connection
  Clock::time_point settled_ = kNever;  // when the stream counts as connected
  std::optional<News> held_;
  std::string client_id_;

  // State of the operation in progress.
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientAsyncResponseReader<job::Status>> register_;
  std::unique_ptr<grpc::ClientAsyncReader<job::JobSummarySignalList>> reader_;
  job::Status answer_;
  job::JobSummarySignalList list_;
  grpc::Status status_;
};

JobFeed::JobFeed(const std::string& coordinator, std::string role)
    : impl_(std::make_unique<Impl>(coordinator, std::move(role))) {}
JobFeed::~JobFeed() = default;
JobFeed::News JobFeed::Next(milliseconds timeout) { return impl_->Next(timeout); }

void SnapshotCount::Add(const job::JobSummarySignalList& list) {
  if (complete_) return;
  if (report_time_.empty()) report_time_ = list.reporttime();
  // A list with another report time is a change. Changes follow the whole snapshot, so the snapshot
  // is complete, whatever size it announced.
  const bool same = list.reporttime() == report_time_;
  if (same) seen_ += list.jobsummarysignals_size();
  complete_ = !same || seen_ >= list.jobtotalnum();
}

}  // namespace assay::cli::watch

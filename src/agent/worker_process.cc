#include "agent/worker_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/process/spawn.h"
#include "base/text.h"
#include "driver/frame.h"

namespace assay::agent {
namespace {

constexpr std::size_t kChunkBytes = 32 << 10;
constexpr int kChunksPerAdvance = 2;  // per pipe: a worker that floods does not block the loop
constexpr std::size_t kLastLineBytes = 300;
constexpr int kEndWaitMs = 1000;
constexpr idtype_t kByPidfd = static_cast<idtype_t>(3);  // P_PIDFD, missing in older headers

// The last line that is not blank.
std::string LastLine(std::string_view text) {
  constexpr std::string_view kBlank = "\r\n\t ";
  const std::size_t end = text.find_last_not_of(kBlank);
  if (end == std::string_view::npos) return "";
  text = text.substr(0, end + 1);
  const std::size_t newline = text.find_last_of("\r\n");
  if (newline != std::string_view::npos) text.remove_prefix(newline + 1);
  return base::Printable(text, kLastLineBytes);
}

// The name of the call that the worker runs from this message until its answer; empty: none.
std::string CallOf(const driver::ToWorker& message) {
  struct Names {
    std::string operator()(const driver::Start&) { return ""; }
    std::string operator()(const driver::ListDevices&) { return "device list"; }
    std::string operator()(const driver::OpenDevice&) { return "open"; }
    std::string operator()(const driver::RunAic&) { return std::string(Name(core::Op::kAic)); }
    std::string operator()(const driver::PrepareP2p&) { return "p2p preparation"; }
    std::string operator()(const driver::RunP2p&) { return std::string(Name(core::Op::kP2p)); }
    std::string operator()(const driver::MakeSafe&) { return "making the device safe"; }
    std::string operator()(const driver::Quit&) { return ""; }
  };
  return std::visit(Names(), message);
}

bool EndsCall(const driver::FromWorker& message) {
  return !std::holds_alternative<driver::OpStarted>(message) &&
         !std::holds_alternative<driver::OpProgress>(message);
}

}  // namespace

class WorkerProcess::Impl {
 public:
  explicit Impl(base::process::SpawnedProcess process)
      : process_(std::move(process)), epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

  ~Impl() {
    if (exited_) return;
    Kill();
    pollfd look{process_.pidfd.get(), POLLIN, 0};
    poll(&look, 1, kEndWaitMs);
    // Children it started during the first signals. It is not reaped: its pid is not reused.
    KillGroup();
    siginfo_t info{};
    waitid(kByPidfd, static_cast<id_t>(process_.pidfd.get()), &info, WEXITED | WNOHANG);
  }

  base::Status Watch() {
    if (!epoll_.valid()) return base::ExhaustedError(std::string("epoll: ") + std::strerror(errno));
    for (const base::UniqueFd* fd : {&process_.pidfd, &process_.from, &process_.capture}) {
      if (!Control(EPOLL_CTL_ADD, *fd, EPOLLIN)) {
        return base::ExhaustedError(std::string("epoll: ") + std::strerror(errno));
      }
    }
    return base::Status::Ok();
  }

  int poll_fd() const { return epoll_.get(); }
  bool exited() const { return exited_; }
  pid_t pid() const { return process_.pid; }

  std::vector<WorkerEvent> Advance() {
    std::vector<WorkerEvent> events;
    if (exited_) return events;
    Flush();
    ReadCapture(kChunksPerAdvance);
    ReadFrames(kChunksPerAdvance, &events);
    pollfd look{process_.pidfd.get(), POLLIN, 0};
    if (poll(&look, 1, 0) == 1) Reap(&events);
    return events;
  }

  base::Status Send(const driver::ToWorker& message) {
    base::Result<std::string> frame = driver::Encode(message);
    if (!frame.ok()) return frame.status();
    if (exited_ || !process_.to.valid()) return base::Status::Ok();
    if (unsent_.size() + frame->size() > kUnsentBytesMax) {
      return base::ExhaustedError("the worker (pid " + std::to_string(process_.pid) +
                                  ") does not read what it is sent");
    }
    const std::string call = CallOf(message);
    if (!call.empty()) calls_.push_back(call);
    unsent_ += *frame;
    Flush();
    return base::Status::Ok();
  }

  void Kill() {
    if (exited_) return;
    killed_ = true;
    KillGroup();
    kill(process_.pid, SIGKILL);  // safe: it is not reaped, so the pid is not reused
  }

 private:
  bool Control(int operation, const base::UniqueFd& fd, std::uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.fd = fd.get();
    return epoll_ctl(epoll_.get(), operation, fd.get(), &event) == 0;
  }

  // The worker leads a session, so its children are in its group unless they left it on purpose.
  void KillGroup() const { kill(-process_.pid, SIGKILL); }

  void Flush() {
    while (!unsent_.empty()) {
      const ssize_t wrote = write(process_.to.get(), unsent_.data(), unsent_.size());
      if (wrote >= 0) {
        unsent_.erase(0, static_cast<std::size_t>(wrote));
      } else if (errno == EAGAIN) {
        break;
      } else if (errno != EINTR) {
        StopWriting();  // it is dying; WorkerExited reports how
        return;
      }
    }
    if (unsent_.empty() == !waits_to_write_) return;
    waits_to_write_ = !unsent_.empty();
    Control(waits_to_write_ ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, process_.to, EPOLLOUT);
  }

  void StopWriting() {
    unsent_ = {};
    waits_to_write_ = false;
    process_.to.Reset();  // its only copy, so closing it also removes it from the epoll set
  }

  // Reads up to one chunk from `fd` into *chunk. False: nothing to read now, or never again (then
  // it closes `fd`).
  static bool ReadChunk(base::UniqueFd* fd, std::array<char, kChunkBytes>* chunk,
                        std::string_view* got) {
    if (!fd->valid()) return false;
    ssize_t bytes = -1;
    do {
      bytes = read(fd->get(), chunk->data(), chunk->size());
    } while (bytes < 0 && errno == EINTR);
    if (bytes > 0) {
      *got = {chunk->data(), static_cast<std::size_t>(bytes)};
      return true;
    }
    if (bytes == 0 || errno != EAGAIN) fd->Reset();
    return false;
  }

  void ReadCapture(int chunks) {
    std::array<char, kChunkBytes> chunk;
    std::string_view got;
    for (; chunks > 0 && ReadChunk(&process_.capture, &chunk, &got); --chunks) {
      captured_ += got;
      if (captured_.size() > kCapturedBytes) captured_.erase(0, captured_.size() - kCapturedBytes);
    }
  }

  void ReadFrames(int chunks, std::vector<WorkerEvent>* events) {
    std::array<char, kChunkBytes> chunk;
    std::string_view got;
    for (; chunks > 0 && ReadChunk(&process_.from, &chunk, &got); --chunks) {
      decoder_.Append(got);
      TakeFrames(events);
    }
    // The worker has closed its end: it is exiting already, or it runs on without a way to answer.
    if (!process_.from.valid()) KillGroup();
  }

  void TakeFrames(std::vector<WorkerEvent>* events) {
    while (bad_frame_.empty()) {
      base::Result<std::optional<driver::Frame>> frame = decoder_.Next();
      if (frame.ok() && !frame->has_value()) return;
      base::Result<driver::FromWorker> message =
          frame.ok() ? driver::DecodeFromWorker(**frame)
                     : base::Result<driver::FromWorker>(frame.status());
      if (!message.ok()) {
        bad_frame_ = message.status().text();
        Kill();
        return;
      }
      if (EndsCall(*message) && !calls_.empty()) calls_.erase(calls_.begin());
      std::visit([&](auto& body) { events->emplace_back(std::move(body)); }, *message);
    }
  }

  void Reap(std::vector<WorkerEvent>* events) {
    // Kill its children first, so that no process writes to the pipes any more; then read the rest
    // of the pipes, which is at most what the kernel's buffers hold.
    KillGroup();
    constexpr int kChunksLeftMax = 64;
    ReadCapture(kChunksLeftMax);
    ReadFrames(kChunksLeftMax, events);

    siginfo_t info{};
    waitid(kByPidfd, static_cast<id_t>(process_.pidfd.get()), &info, WEXITED | WNOHANG);
    WorkerExited exited;
    if (info.si_pid == 0) {
      exited.how = "unknown exit status (another part of this program reaped the process)";
    } else if (info.si_code == CLD_EXITED) {
      exited.status = info.si_status;
      exited.how = "exit status " + std::to_string(exited.status);
    } else {
      exited.signal = info.si_status;
      exited.how = "signal " + std::to_string(exited.signal);
    }
    exited.killed = killed_;
    if (!calls_.empty()) exited.call = calls_.front();
    exited.bad_frame = bad_frame_;
    exited.last_line = LastLine(captured_);
    exited.output = std::move(captured_);
    events->emplace_back(std::move(exited));
    exited_ = true;
    for (base::UniqueFd* fd : {&process_.to, &process_.from, &process_.capture, &process_.pidfd}) {
      fd->Reset();
    }
  }

  base::process::SpawnedProcess process_;
  base::UniqueFd epoll_;
  driver::FrameDecoder decoder_;
  std::string unsent_;
  bool waits_to_write_ = false;
  std::vector<std::string> calls_;  // sent and unanswered, in order
  std::string captured_;
  std::string bad_frame_;
  bool killed_ = false;
  bool exited_ = false;
};

WorkerProcess::WorkerProcess(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WorkerProcess::~WorkerProcess() = default;

base::Result<std::unique_ptr<WorkerProcess>> WorkerProcess::Start(const WorkerSpec& spec) {
  signal(SIGPIPE, SIG_IGN);
  base::Result<base::process::SpawnedProcess> process =
      base::process::Spawn(spec.program,
                           {"worker", "--in=" + std::to_string(base::process::kChildIn),
                            "--out=" + std::to_string(base::process::kChildOut)},
                           spec.env);
  if (!process.ok()) return process.status();
  auto impl = std::make_unique<Impl>(*std::move(process));
  base::Status status = impl->Watch();
  if (status.ok()) status = impl->Send(driver::Start{spec.driver});
  if (!status.ok()) return status;
  return std::unique_ptr<WorkerProcess>(new WorkerProcess(std::move(impl)));
}

int WorkerProcess::poll_fd() const { return impl_->poll_fd(); }
std::vector<WorkerEvent> WorkerProcess::Advance() { return impl_->Advance(); }
base::Status WorkerProcess::Send(const driver::ToWorker& message) { return impl_->Send(message); }
void WorkerProcess::Kill() { impl_->Kill(); }
bool WorkerProcess::exited() const { return impl_->exited(); }
pid_t WorkerProcess::pid() const { return impl_->pid(); }

}  // namespace assay::agent

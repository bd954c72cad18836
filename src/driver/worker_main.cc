#include "driver/worker_main.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "driver/driver.h"
#include "driver/frame.h"
#include "driver/message.h"

namespace assay::driver {
namespace {

constexpr auto kProgressEvery = std::chrono::milliseconds(200);

void WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(fd, bytes.data(), bytes.size());
    if (wrote >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(wrote));
    } else if (errno != EINTR) {
      // The agent has exited, so no process waits for the driver's result.
      _exit(kWorkerPipeClosed);
    }
  }
}

class Worker : public Progress {
 public:
  Worker(int in_fd, int out_fd) : in_fd_(in_fd), out_fd_(out_fd) {}

  int Loop() {
    std::array<char, 16 << 10> chunk;
    while (!quit_) {
      base::Result<std::optional<Frame>> frame = decoder_.Next();
      if (!frame.ok()) return BadFrame(frame.status());
      if (frame->has_value()) {
        base::Result<ToWorker> message = DecodeToWorker(**frame);
        if (!message.ok()) return BadFrame(message.status());
        std::visit([this](auto& body) { Do(std::move(body)); }, *message);
        continue;
      }
      const ssize_t got = read(in_fd_, chunk.data(), chunk.size());
      if (got > 0) {
        decoder_.Append({chunk.data(), static_cast<std::size_t>(got)});
      } else if (got == 0 || errno != EINTR) {
        return kWorkerPipeClosed;
      }
    }
    return kWorkerQuit;
  }

  void Report(std::int32_t percent, std::string_view text) override {
    const auto now = std::chrono::steady_clock::now();
    if (now - reported_ < kProgressEvery) return;
    reported_ = now;
    Send(OpProgress{op_, percent, base::Printable(text, kTextBytesMax)});
  }

 private:
  static int BadFrame(const base::Status& status) {
    std::fprintf(stderr, "worker: invalid message from the agent: %s\n", status.text().c_str());
    return kWorkerBadFrame;
  }

  void Send(const FromWorker& message) {
    // Cannot fail: the callers limit texts and blobs, and the options bound device lists.
    base::Result<std::string> frame = Encode(message);
    if (!frame.ok()) {
      std::fprintf(stderr, "worker: %s\n", frame.status().text().c_str());
      _exit(kWorkerBadFrame);
    }
    WriteAll(out_fd_, *frame);
  }

  // The reason why there is no driver (DeviceError: or no open device); empty if there is one.
  std::string DriverError() const {
    if (driver_ != nullptr) return "";
    return start_error_.empty() ? "the worker was not started with a driver" : start_error_;
  }
  std::string DeviceError() const {
    std::string error = DriverError();
    if (!error.empty()) return error;
    return device_ == nullptr ? "the device is not open" : "";
  }

  // Returns what fn returns, or the text of the exception that it throws. A driver's exception must
  // not end the process, because then the agent would not receive the reason.
  template <class Fn>
  static std::string CatchInto(Fn fn) {
    try {
      return fn();
    } catch (const std::exception& error) {
      return std::string("exception in the driver: ") + error.what();
    }
  }

  void Do(Start message) {
    message.options.frame_fd = out_fd_;
    start_error_ = CatchInto([&] {
      base::Result<std::unique_ptr<Driver>> made = Make(message.options);
      if (!made.ok()) return made.status().text();
      driver_ = *std::move(made);
      return std::string();
    });
  }

  void Do(ListDevices) {
    DevicesListed answer;
    answer.error = DriverError();
    if (answer.error.empty()) {
      answer.error = CatchInto([&] {
        answer.driver = driver_->name();
        base::Result<std::vector<ListedDevice>> devices = driver_->Inventory();
        if (!devices.ok()) return devices.status().text();
        answer.devices = *std::move(devices);
        return std::string();
      });
    }
    answer.error = base::Printable(answer.error, kTextBytesMax);
    Send(answer);
  }

  void Do(OpenDevice message) {
    std::string error = DriverError();
    if (error.empty() && device_ != nullptr) error = "this worker already has an open device";
    if (error.empty()) {
      error = CatchInto([&] {
        base::Result<std::unique_ptr<Device>> opened = driver_->Open(message.device);
        if (!opened.ok()) return opened.status().text();
        device_ = *std::move(opened);
        return std::string();
      });
    }
    Send(DeviceOpened{base::Printable(error, kTextBytesMax)});
  }

  template <class Fn>
  void RunOp(core::Op op, std::string error, Fn fn) {
    OpReport report{core::OutcomeCode::kNotRun, std::move(error)};
    if (report.detail.empty()) {
      op_ = op;
      Send(OpStarted{op});
      const std::string thrown = CatchInto([&] {
        report = fn();
        return std::string();
      });
      if (!thrown.empty()) report = {core::OutcomeCode::kNotRun, thrown};
    }
    Send(OpDone{op, report.code, base::Printable(report.detail, kTextBytesMax)});
  }

  void Do(RunAic) {
    RunOp(core::Op::kAic, DeviceError(), [this] { return device_->RunAic(this); });
  }

  static bool IsValid(const P2pGroup& group) {
    return group.self >= 0 && static_cast<std::size_t>(group.self) < group.members.size();
  }

  void Do(PrepareP2p message) {
    P2pPrepared answer;
    answer.error = DeviceError();
    if (answer.error.empty() && !IsValid(message.group)) {
      answer.error = "this worker's index is outside the p2p group";
    }
    if (answer.error.empty()) {
      answer.error = CatchInto([&] {
        base::Result<std::string> blob = device_->PrepareP2p(message.group);
        if (!blob.ok()) return blob.status().text();
        if (blob->size() > kBlobBytesMax) {
          return "the driver returned " + std::to_string(blob->size()) +
                 " bytes of connection data, more than a blob may have";
        }
        answer.blob = *std::move(blob);
        prepared_ = message.group;
        return std::string();
      });
    }
    answer.error = base::Printable(answer.error, kTextBytesMax);
    Send(answer);
  }

  void Do(RunP2p message) {
    std::string error = DeviceError();
    if (error.empty() && (!prepared_ || *prepared_ != message.group ||
                          message.blobs.size() != message.group.members.size())) {
      error = "the p2p test was not prepared with this group";
    }
    prepared_.reset();
    RunOp(core::Op::kP2p, std::move(error),
          [&] { return device_->RunP2p(message.group, message.blobs, this); });
  }

  void Do(MakeSafe message) {
    MadeSafe answer{true, DriverError()};
    if (answer.detail.empty()) {
      const std::string thrown = CatchInto([&] {
        const VoltageReport report = driver_->MakeSafe(message.device);
        answer = {report.changed, report.detail};
        return std::string();
      });
      if (!thrown.empty()) answer = {true, thrown};
    }
    answer.detail = base::Printable(answer.detail, kTextBytesMax);
    Send(answer);
  }

  void Do(Quit) { quit_ = true; }

  const int in_fd_;
  const int out_fd_;
  FrameDecoder decoder_;
  std::string start_error_;
  std::unique_ptr<Driver> driver_;
  std::unique_ptr<Device> device_;  // destroyed before the driver
  std::optional<P2pGroup> prepared_;
  core::Op op_ = core::Op::kAic;  // the running op
  std::chrono::steady_clock::time_point reported_{};
  bool quit_ = false;
};

// Makes the kernel kill this process when the agent dies. False: the agent died before that.
bool FollowParent(int in_fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Only the agent holds the other end of the pipe. getppid() would not do: an agent in a container
  // may be process 1.
  pollfd look{in_fd, 0, 0};
  return poll(&look, 1, 0) >= 0 && (look.revents & POLLHUP) == 0;
}

}  // namespace

int RunWorker(int in_fd, int out_fd) {
  for (int number : {SIGTERM, SIGINT, SIGHUP, SIGPIPE}) signal(number, SIG_IGN);
  prctl(PR_SET_NAME, "assay-worker");
  // Processes that a driver starts must not hold the pipes open.
  for (int fd : {in_fd, out_fd}) {
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
      std::fprintf(stderr, "worker: descriptor %d is not open; only the agent can start a worker\n",
                   fd);
      return kWorkerBadFrame;
    }
  }
  if (!FollowParent(in_fd)) return kWorkerPipeClosed;
  return Worker(in_fd, out_fd).Loop();
}

}  // namespace assay::driver

#include "agent/workers.h"

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "wire/fleet_wire.h"

namespace assay::agent {
namespace {

constexpr std::size_t kShownReason = 300;

// "signal 11", "exit status 7"; the last line that it printed follows after a newline (see
// WorkerGone in supervisor.h).
std::string How(const WorkerExited& exited) {
  std::string how;
  if (!exited.bad_frame.empty()) {
    how = "killed for sending an invalid message (" + base::Shown(exited.bad_frame, kShownReason) +
          ")";
  } else if (exited.signal != 0) {
    how = "signal " + std::to_string(exited.signal);
  } else {
    how = exited.how;
  }
  if (!exited.last_line.empty()) how += "\n" + base::Shown(exited.last_line, kShownReason);
  return how;
}

std::string OneLine(std::string text) {
  const std::size_t newline = text.find('\n');
  if (newline != std::string::npos) text.replace(newline, 1, ": ");
  return text;
}

template <class Effect>
driver::P2pGroup GroupOf(const Effect& effect) {
  driver::P2pGroup group;
  group.members.reserve(effect.group.size());
  for (const core::node::P2pMember& member : effect.group) {
    group.members.push_back({member.rank, member.device});
  }
  group.self = effect.index;
  return group;
}

}  // namespace

Workers::Workers(WorkerSpec spec) : spec_(std::move(spec)), epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

Workers::~Workers() {
  KillAll();
  processes_.clear();
}

// --- To the workers ---------------------------------------------------------------------------

Workers::Process* Workers::Add(const core::node::WorkerKey& key, std::int32_t device, bool safing,
                               base::Status* status) {
  base::Result<std::unique_ptr<WorkerProcess>> started = WorkerProcess::Start(spec_);
  if (!started.ok()) {
    *status = started.status();
    return nullptr;
  }
  const std::uint64_t id = next_id_++;
  epoll_event interest{};
  interest.events = EPOLLIN;
  interest.data.u64 = id;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, (*started)->poll_fd(), &interest) != 0) {
    *status = base::ExhaustedError(std::string("epoll: ") + std::strerror(errno));
    return nullptr;
  }
  Process& process = processes_[id];
  process.key = key;
  process.device = device;
  process.process = std::move(started).value();
  process.safing = safing;
  if (!safing) by_key_[key] = id;
  return &process;
}

Workers::Process* Workers::Find(const core::node::WorkerKey& key) {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : &processes_.at(found->second);
}

bool Workers::Send(Process* to, const driver::ToWorker& message, base::Status* status) {
  *status = to->process->Send(message);
  return status->ok();
}

void Workers::SendOrKill(const core::node::WorkerKey& key, const driver::ToWorker& message) {
  Process* to = Find(key);
  base::Status status;
  if (to == nullptr || Send(to, message, &status))
    return;  // null: it has exited, and WorkerGone informs the supervisor
  base::LogWarn("killing the worker of device " + std::to_string(to->device) + " (rank " +
                std::to_string(key.rank) + " of run " + std::to_string(key.run) +
                "): " + status.text());
  to->process->Kill();
}

void Workers::Perform(const core::node::SpawnWorker& effect) {
  base::Status status;
  if (Add(effect.worker, effect.device, false, &status) != nullptr) {
    SendOrKill(effect.worker, driver::OpenDevice{effect.device});
    return;
  }
  waiting_.push_back(
      core::node::WorkerGone{effect.worker, "could not be started: " + status.text()});
}

void Workers::Perform(const core::node::RunAic& effect) {
  SendOrKill(effect.worker, driver::RunAic{});
}

void Workers::Perform(const core::node::PrepareP2p& effect) {
  Process* to = Find(effect.worker);
  base::Status status;
  if (to == nullptr || Send(to, driver::PrepareP2p{GroupOf(effect)}, &status)) return;
  waiting_.push_back(core::node::WorkerP2pPrepared{effect.worker, "", status.text()});
}

void Workers::Perform(const core::node::RunP2p& effect) {
  Process* to = Find(effect.worker);
  base::Status status;
  if (to == nullptr || Send(to, driver::RunP2p{GroupOf(effect), effect.blobs}, &status)) return;
  waiting_.push_back(core::node::WorkerOpDone{effect.worker, core::Op::kP2p,
                                              core::OutcomeCode::kNotRun, status.text()});
}

void Workers::Perform(const core::node::QuitWorker& effect) {
  SendOrKill(effect.worker, driver::Quit{});
}

void Workers::Perform(const core::node::KillWorker& effect) {
  if (Process* process = Find(effect.worker)) process->process->Kill();
}

void Workers::Perform(const core::node::MakeSafe& effect, core::Ms now) {
  base::Status status;
  Process* process = Add(effect.worker, effect.device, true, &status);
  if (process != nullptr && (!Send(process, driver::MakeSafe{effect.device}, &status) ||
                             !Send(process, driver::Quit{}, &status))) {
    process->safe.detail = status.text();
    process->process->Kill();
  }
  if (process != nullptr) {
    process->kill_at = now + effect.timeout;
    return;
  }
  waiting_.push_back(core::node::DeviceSafe{
      effect.worker, true,
      "could not check the voltage: cannot start a process for it: " + status.text()});
}

void Workers::KillAll() {
  for (auto& [id, process] : processes_) {
    process.process->Kill();
    process.discarded = true;
  }
  by_key_.clear();
  waiting_.clear();
}

// --- From the workers -------------------------------------------------------------------------

void Workers::Collect(core::Ms now, std::vector<core::node::NodeEvent>* out) {
  for (core::node::NodeEvent& event : waiting_) out->push_back(std::move(event));
  waiting_.clear();
  std::array<epoll_event, 64> ready;
  const int count = epoll_wait(epoll_.get(), ready.data(), static_cast<int>(ready.size()), 0);
  for (int i = 0; i < count; i++) {
    const auto found = processes_.find(ready[static_cast<std::size_t>(i)].data.u64);
    if (found == processes_.end()) continue;
    Process& from = found->second;
    for (WorkerEvent& event : from.process->Advance()) {
      if (!from.discarded) Take(&from, std::move(event), out);
    }
    if (!from.process->exited()) continue;
    if (!from.safing && !from.discarded) by_key_.erase(from.key);
    processes_.erase(found);
  }
  for (auto& [id, process] : processes_) {
    if (!process.safing || process.discarded || process.late || now < process.kill_at) continue;
    process.late = true;
    process.process->Kill();
  }
}

core::Ms Workers::NextDeadline(core::Ms now) const {
  if (!waiting_.empty()) return now;
  core::Ms next = now + 3'600'000;
  for (const auto& [id, process] : processes_) {
    if (process.safing && !process.discarded && !process.late) {
      next = std::min(next, process.kill_at);
    }
  }
  return next;
}

void Workers::Take(Process* from, WorkerEvent event, std::vector<core::node::NodeEvent>* out) {
  if (from->safing) {
    TakeSafing(from, std::move(event), out);
  } else {
    TakeWork(*from, std::move(event), out);
  }
}

void Workers::TakeWork(const Process& from, WorkerEvent event,
                       std::vector<core::node::NodeEvent>* out) {
  struct Translate {
    const Process& from;
    std::vector<core::node::NodeEvent>* out;

    void operator()(driver::DeviceOpened& answer) {
      if (answer.error.empty()) {
        out->push_back(core::node::WorkerOpened{from.key});
      } else {
        out->push_back(core::node::WorkerFailed{from.key, std::move(answer.error)});
      }
    }
    void operator()(driver::OpProgress& answer) {
      out->push_back(core::node::WorkerProgressed{from.key, answer.op, answer.percent,
                                                  std::move(answer.text)});
    }
    void operator()(driver::OpDone& answer) {
      out->push_back(
          core::node::WorkerOpDone{from.key, answer.op, answer.code, std::move(answer.detail)});
    }
    void operator()(driver::P2pPrepared& answer) {
      out->push_back(
          core::node::WorkerP2pPrepared{from.key, std::move(answer.blob), std::move(answer.error)});
    }
    void operator()(WorkerExited& exited) {
      const bool quit = exited.signal == 0 && exited.status == 0;
      if (!quit && !exited.killed) {
        base::LogWarn("the worker of device " + std::to_string(from.device) + " (rank " +
                      std::to_string(from.key.rank) + " of run " + std::to_string(from.key.run) +
                      ") died: " + exited.how + (exited.call.empty() ? "" : " in " + exited.call) +
                      (exited.last_line.empty() ? "" : ": " + exited.last_line));
      }
      out->push_back(core::node::WorkerGone{from.key, How(exited)});
    }
    void operator()(driver::OpStarted&) {}  // not needed: the supervisor itself started the op
    void operator()(driver::DevicesListed&) {}
    void operator()(driver::MadeSafe&) {}
  };
  std::visit(Translate{from, out}, event);
}

void Workers::TakeSafing(Process* from, WorkerEvent event,
                         std::vector<core::node::NodeEvent>* out) {
  if (driver::MadeSafe* answer = std::get_if<driver::MadeSafe>(&event)) {
    from->answered = true;
    from->safe = std::move(*answer);
    return;
  }
  const WorkerExited* exited = std::get_if<WorkerExited>(&event);
  if (exited == nullptr) return;
  core::node::DeviceSafe safe{from->key, from->safe.voltage_changed, from->safe.detail};
  if (!from->answered) {
    safe.voltage_changed = true;
    safe.detail = "could not check the voltage: ";
    if (from->late) {
      safe.detail += "the driver did not answer in time";
    } else if (!from->safe.detail.empty()) {
      safe.detail += from->safe.detail;
    } else {
      safe.detail += "worker died: " + OneLine(How(*exited));
    }
  }
  if (safe.voltage_changed) {
    base::LogError("the voltage of device " + std::to_string(from->device) +
                   " is still changed after rank " + std::to_string(from->key.rank) + " of run " +
                   std::to_string(from->key.run) + ": " + safe.detail);
  }
  out->push_back(std::move(safe));
}

// --- Inventory --------------------------------------------------------------------------------

namespace {

base::Status TakeInventory(driver::DevicesListed listed, core::Node* node) {
  if (!listed.error.empty())
    return base::UnavailableError("cannot list the devices: " + listed.error);
  if (listed.devices.size() > static_cast<std::size_t>(wire::kWireDevicesMax)) {
    return base::ExhaustedError("the driver " + listed.driver + " lists " +
                                std::to_string(listed.devices.size()) + " devices; the most is " +
                                std::to_string(wire::kWireDevicesMax));
  }
  node->driver = listed.driver;
  node->devices.clear();
  for (driver::ListedDevice& device : listed.devices) {
    if (device.device < 0) {
      return base::InternalError("the driver " + listed.driver + " lists a device " +
                                 std::to_string(device.device));
    }
    node->devices.push_back({device.device, std::move(device.kind), std::move(device.detail)});
  }
  return base::Status::Ok();
}

}  // namespace

base::Status AskInventory(const WorkerSpec& spec, core::Ms wait_ms, core::Node* node) {
  using Clock = std::chrono::steady_clock;
  base::Result<std::unique_ptr<WorkerProcess>> worker = WorkerProcess::Start(spec);
  if (!worker.ok()) return worker.status();
  base::Status status = (*worker)->Send(driver::ListDevices{});
  if (status.ok()) status = (*worker)->Send(driver::Quit{});
  if (!status.ok()) return status;
  const Clock::time_point end = Clock::now() + std::chrono::milliseconds(wait_ms);
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) {
      return base::UnavailableError("cannot list the devices: the driver " + spec.driver.kind +
                                    " did not answer within " + std::to_string(wait_ms / 1000) +
                                    " s");
    }
    pollfd look{(*worker)->poll_fd(), POLLIN, 0};
    poll(&look, 1, static_cast<int>(left));
    for (WorkerEvent& event : (*worker)->Advance()) {
      if (auto* listed = std::get_if<driver::DevicesListed>(&event)) {
        return TakeInventory(std::move(*listed), node);
      }
      if (const auto* exited = std::get_if<WorkerExited>(&event)) {
        return base::UnavailableError("cannot list the devices: worker died: " +
                                      OneLine(How(*exited)));
      }
    }
  }
}

}  // namespace assay::agent

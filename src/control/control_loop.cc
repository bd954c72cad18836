#include "control/control_loop.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "base/log.h"
#include "base/thread.h"
#include "base/wall_clock.h"

namespace assay::control {

ControlLoop::ControlLoop(const core::Settings& settings, Intake* intake, Fanout* fanout,
                         store::Storage* storage, std::function<void(bool)> serving)
    : settings_(settings),
      intake_(intake),
      storage_(storage),
      serving_(std::move(serving)),
      wall_start_(base::WallNow()),
      steady_start_(std::chrono::steady_clock::now()),
      streams_(fanout),
      links_(fanout) {}

core::Ms ControlLoop::Now() const {
  return wall_start_ + std::chrono::duration_cast<std::chrono::milliseconds>(
                           std::chrono::steady_clock::now() - steady_start_)
                           .count();
}

base::Status ControlLoop::Load() {
  base::Result<core::Durable> durable = storage_->Load();
  if (!durable.ok()) return durable.status();
  cluster_.emplace(settings_, std::move(*durable), Now());
  return base::Status::Ok();
}

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
    if (!news && !idle_said_) {
      storage_->Idle();
      idle_said_ = true;
    }
    Take();
    if (Refusal() == nullptr) Tick();
    EndBatch();
    if (!cluster_.has_value() && !stopping_) TryToRecover();
    if (memory_.Due()) base::ReturnFreedMemory();
  }
}

int ControlLoop::WaitMs() const {
  const core::Ms next = cluster_.has_value() ? next_tick_ : next_retry_;
  return static_cast<int>(std::clamp<core::Ms>(next - Now(), 0, kTick));
}

void ControlLoop::Take() {
  if (intake_->mailbox().Drain(&items_, kItemsMax) != 0) {
    idle_said_ = false;
    memory_.Worked();
  }
  for (Inbound& item : items_) {
    Handle(std::move(item));
    if (out_.records.size() >= kRecordsMax) EndBatch();
  }
  items_.clear();  // frees the items' bodies now rather than with the next batch
}

const base::Status* ControlLoop::Refusal() const { return refusal_.ok() ? nullptr : &refusal_; }

void ControlLoop::Handle(Inbound&& item) {
  switch (item.kind) {
    case Inbound::Kind::kNone:
      break;
    case Inbound::Kind::kCall:
      return OnCall(std::move(item));
    case Inbound::Kind::kStreamOpened:
      return OnStreamOpened(std::move(item));
    case Inbound::Kind::kStreamClosed:
      if (streams_.Closed(item.id)) Step(core::StreamClosed{item.id});
      closed_streams_.push_back(item.id);
      break;
    case Inbound::Kind::kStreamDone:
      if (streams_.Done(item.id, item.close_posted)) Step(core::StreamClosed{item.id});
      break;
    case Inbound::Kind::kLinkOpened:
      return OnLinkOpened(item);
    case Inbound::Kind::kLinkSaid:
      if (!links_.Said(item.id)) break;
      Step(*item.event);
      consumed_.push_back(item.id);
      break;
    case Inbound::Kind::kLinkClosed:
      if (links_.Closed(item.id, std::move(item.status))) Step(core::LinkClosed{item.id});
      closed_links_.push_back(item.id);
      break;
    case Inbound::Kind::kLinkDone:
      if (links_.Done(item.id, item.close_posted)) Step(core::LinkClosed{item.id});
      break;
    case Inbound::Kind::kStop:
      return OnStop();
  }
}

void ControlLoop::OnCall(Inbound&& item) {
  if (const base::Status* refusal = Refusal()) return item.call->Failed(*refusal);
  calls_.emplace(item.id, item.call);
  Step(*item.event);
}

void ControlLoop::OnStreamOpened(Inbound&& item) {
  const auto& opened = std::get<core::StreamOpened>(*item.event);
  const bool closed_early = streams_.ClosedEarly(item.id);
  streams_.Opened(item.id, item.stream, opened.topic);
  if (const base::Status* refusal = Refusal()) return streams_.End(item.id, *refusal);
  if (closed_early) return streams_.End(item.id, base::Status::Ok());
  Step(*item.event);
  streams_.Told(item.id);
}

void ControlLoop::OnLinkOpened(const Inbound& item) {
  links_.Opened(item.id, item.link);
  if (const base::Status* refusal = Refusal()) return links_.End(item.id, *refusal);
  if (links_.ClosedEarly(item.id)) return links_.End(item.id, base::Status::Ok());
  links_.ReadNext(item.id);
}

void ControlLoop::Tick() {
  const core::Ms now = Now();
  if (now < next_tick_) return;
  for (core::LinkId id : links_.Silent(settings_.agent_timeout)) {
    auto why = std::make_unique<base::Status>(
        base::UnavailableError("the coordinator received nothing from the agent for " +
                               std::to_string(settings_.agent_timeout / 1000) + " s"));
    if (links_.Lost(id, std::move(why))) Step(core::LinkClosed{id});
    closed_links_.push_back(id);
  }
  Step(core::Ticked{});
}

// Commits the batch's records, the tick's included, then releases its effects.
void ControlLoop::EndBatch() {
  if (!cluster_.has_value()) return ForgetBatch();
  if (!out_.records.empty()) {
    if (base::Status status = storage_->Commit(out_.records); !status.ok())
      return BeginOutage(status);
    idle_said_ = false;
  }
  Release();
  const core::Ms now = Now();
  next_tick_ = std::min(cluster_->NextDeadline(now), now + kTick);
}

void ControlLoop::Release() {
  for (core::Effect& effect : out_.effects) Release(std::move(effect));
  for (core::StreamId id : closed_streams_) streams_.End(id, base::Status::Ok());
  for (core::LinkId id : closed_links_) links_.End(id, base::Status::Ok());
  for (core::LinkId id : consumed_) links_.ReadNext(id);
  ForgetBatch();
}

void ControlLoop::ForgetBatch() {
  // The vectors are reused, but not with the capacity that one reply of 65,536 ranks needed.
  if (out_.records.capacity() > 2 * kRecordsMax) std::vector<core::Record>().swap(out_.records);
  if (out_.effects.capacity() > 2 * kRecordsMax) std::vector<core::Effect>().swap(out_.effects);
  out_.records.clear();
  out_.effects.clear();
  closed_streams_.clear();
  closed_links_.clear();
  consumed_.clear();
}

void ControlLoop::Release(core::Effect&& effect) {
  if (auto* answer = std::get_if<core::Answer>(&effect)) {
    const auto found = calls_.find(answer->call);
    if (found == calls_.end()) return;
    PendingCall* const call = found->second;
    calls_.erase(found);
    call->Answered(std::move(*answer));
  } else if (const auto* attach = std::get_if<core::AttachStream>(&effect)) {
    streams_.Attach(*attach);
  } else if (const auto* notify = std::get_if<core::PublishNotify>(&effect)) {
    streams_.Notify(*notify);
  } else if (const auto* result = std::get_if<core::PublishResult>(&effect)) {
    streams_.Result(*result);
  } else if (const auto* replay = std::get_if<core::ReplayResult>(&effect)) {
    streams_.Replay(*replay);
  } else if (auto* signal = std::get_if<core::PublishSignal>(&effect)) {
    streams_.Signal(std::move(*signal));
  } else if (auto* forget = std::get_if<core::ForgetDeleted>(&effect)) {
    streams_.Forget(std::move(*forget));
  } else if (const auto* end_stream = std::get_if<core::EndStream>(&effect)) {
    streams_.End(end_stream->stream, end_stream->status);
  } else if (auto* to_agent = std::get_if<core::ToAgent>(&effect)) {
    links_.Send(std::move(*to_agent));
  } else if (const auto* end_link = std::get_if<core::EndLink>(&effect)) {
    links_.End(end_link->link, end_link->status);
  }
}

void ControlLoop::BeginOutage(const base::Status& why) {
  base::LogError(
      "the database cannot commit: " + why.text() +
      "; commands, subscriptions and agents get UNAVAILABLE until a commit succeeds; retrying "
      "every second");
  refusal_ = base::UnavailableError("the coordinator cannot write its database: " + why.text());
  outage_since_ = Now();
  next_retry_ = outage_since_ + kRetry;
  serving_(false);
  cluster_.reset();
  ForgetBatch();
  std::unordered_map<core::CallId, PendingCall*> calls;
  calls.swap(calls_);
  for (const auto& [id, call] : calls) call->Failed(refusal_);
  streams_.EndAll(refusal_);
  links_.EndAll(refusal_);
}

void ControlLoop::TryToRecover() {
  if (Now() < next_retry_) return;
  next_retry_ = Now() + kRetry;
  base::Result<core::Durable> durable = storage_->Load();
  if (!durable.ok()) return;
  core::AddEvent event;
  event.time = Now();
  event.kind = "store_recovered";
  event.text = "no commit succeeded for " + std::to_string((Now() - outage_since_) / 1000) +
               " s: " + refusal_.text();
  if (!storage_->Commit({event}).ok()) return;
  cluster_.emplace(settings_, std::move(*durable), Now());
  refusal_ = base::Status::Ok();
  next_tick_ = 0;
  base::LogInfo("the database can commit again; the coordinator is serving");
  serving_(true);
}

void ControlLoop::OnStop() {
  const base::Status why = base::UnavailableError("the coordinator is stopping");
  // Store the loss of every link like any other loss. If this commit fails, the next start derives
  // the same from the stored state.
  if (Refusal() == nullptr) {
    for (core::LinkId id : links_.Open()) {
      if (links_.Lost(id, std::make_unique<base::Status>(why))) Step(core::LinkClosed{id});
    }
    EndBatch();
  }
  stopping_ = true;
  refusal_ = why;
  streams_.EndAll(refusal_);
  links_.EndAll(refusal_);
}

}  // namespace assay::control

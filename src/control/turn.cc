#include "control/turn.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "base/log.h"

namespace assay::control {

Turn::Turn(const core::Settings& settings, Fanout* fanout, store::Storage* storage,
           std::function<void(bool)> serving, TurnObserver* observer)
    : settings_(settings),
      storage_(storage),
      serving_(std::move(serving)),
      observer_(observer),
      streams_(fanout),
      links_(fanout) {}

base::Status Turn::Load(core::Ms now) {
  now_ = now;
  base::Result<core::Durable> durable = storage_->Load();
  if (!durable.ok()) return durable.status();
  Create(std::move(*durable));
  return base::Status::Ok();
}

void Turn::Create(core::Durable&& durable) {
  cluster_.emplace(settings_, std::move(durable), now_);
  next_tick_ = now_;
  if (observer_ != nullptr) observer_->Loaded(*cluster_);
}

bool Turn::Run(std::vector<Inbound>* items, core::Ms now) {
  now_ = now;
  worked_ = !items->empty();
  for (Inbound& item : *items) {
    Handle(std::move(item));
    if (out_.records.size() >= kRecordsMax) EndBatch();
  }
  items->clear();  // frees the items' bodies now rather than with the next batch
  if (Refusal() == nullptr && now_ >= next_tick_) Tick();
  EndBatch();
  if (!cluster_.has_value() && !stopping_ && now_ >= next_retry_) TryToRecover();
  return worked_;
}

core::Ms Turn::NextDue() const {
  if (stopping_) return now_ + kTick;
  return cluster_.has_value() ? next_tick_ : next_retry_;
}

void Turn::Step(const core::Event& event) {
  if (observer_ == nullptr) return cluster_->Step(event, now_, &out_);
  const std::size_t record = out_.records.size();
  const std::size_t effect = out_.effects.size();
  observer_->BeforeStep(event, *cluster_);
  cluster_->Step(event, now_, &out_);
  observer_->AfterStep(event, out_, record, effect, *cluster_);
}

void Turn::Handle(Inbound&& item) {
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
    case Inbound::Kind::kLinkMessage:
      if (!links_.AcceptMessage(item.id)) break;
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

void Turn::OnCall(Inbound&& item) {
  if (const base::Status* refusal = Refusal()) return item.call->Failed(*refusal);
  calls_.emplace(item.id, item.call);
  Step(*item.event);
}

void Turn::OnStreamOpened(Inbound&& item) {
  const auto& opened = std::get<core::StreamOpened>(*item.event);
  const bool open = streams_.Opened(item.id, item.stream, opened.topic);
  if (const base::Status* refusal = Refusal()) return streams_.End(item.id, *refusal);
  if (!open) return streams_.End(item.id, base::Status::Ok());
  streams_.MarkOpenInCore(item.id);
  Step(*item.event);
}

void Turn::OnLinkOpened(const Inbound& item) {
  const bool open = links_.Opened(item.id, item.link);
  if (const base::Status* refusal = Refusal()) return links_.End(item.id, *refusal);
  if (!open) return links_.End(item.id, base::Status::Ok());
  links_.ReadNext(item.id);
}

void Turn::Tick() {
  last_tick_ = now_;
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
void Turn::EndBatch() {
  if (!cluster_.has_value()) return ForgetBatch();
  if (!out_.records.empty()) {
    worked_ = true;
    if (base::Status status = storage_->Commit(out_.records); !status.ok())
      return BeginOutage(status);
  }
  Release();
  // Counted from the last tick, not from now: a batch must not put the tick off, or steady traffic
  // would keep it from ever coming.
  next_tick_ = std::min(cluster_->NextDeadline(now_), last_tick_ + kTick);
}

void Turn::Release() {
  for (core::Effect& effect : out_.effects) {
    if (observer_ != nullptr) observer_->BeforeRelease(effect);
    std::visit([this](auto& one) { Release(std::move(one)); }, effect);
  }
  for (core::StreamId id : closed_streams_) streams_.End(id, base::Status::Ok());
  for (core::LinkId id : closed_links_) links_.End(id, base::Status::Ok());
  for (core::LinkId id : consumed_) links_.ReadNext(id);
  ForgetBatch();
}

void Turn::Release(core::Answer&& answer) {
  const auto found = calls_.find(answer.call);
  if (found == calls_.end()) return;
  PendingCall* const call = found->second;
  calls_.erase(found);
  call->Answered(std::move(answer));
}

void Turn::Release(core::ReportDefect&& defect) {
  base::LogError("internal error, please report it: " + defect.text);
}

void Turn::ForgetBatch() {
  // The vectors are reused, but not with the capacity that one reply of 65,536 ranks needed.
  if (out_.records.capacity() > 2 * kRecordsMax) std::vector<core::Record>().swap(out_.records);
  if (out_.effects.capacity() > 2 * kRecordsMax) std::vector<core::Effect>().swap(out_.effects);
  out_.records.clear();
  out_.effects.clear();
  closed_streams_.clear();
  closed_links_.clear();
  consumed_.clear();
}

void Turn::BeginOutage(const base::Status& why) {
  base::LogError(
      "the database cannot commit: " + why.text() +
      "; commands, subscriptions and agents get UNAVAILABLE until a commit succeeds; retrying "
      "every second");
  refusal_ = base::UnavailableError("the coordinator cannot write its database: " + why.text());
  outage_since_ = now_;
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

void Turn::TryToRecover() {
  next_retry_ = now_ + kRetry;
  base::Result<core::Durable> durable = storage_->Load();
  if (!durable.ok()) return;
  core::AddEvent event;
  event.time = now_;
  event.kind = "store_recovered";
  event.text = "no commit succeeded for " + std::to_string((now_ - outage_since_) / 1000) +
               " s: " + refusal_.text();
  if (!storage_->Commit({event}).ok()) return;
  Create(std::move(*durable));
  refusal_ = base::Status::Ok();
  base::LogInfo("the database can commit again; the coordinator is serving");
  serving_(true);
}

void Turn::OnStop() {
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

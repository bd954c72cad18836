#include "control/board_fanout.h"

#include <utility>

#include "base/wall_clock.h"

namespace assay::control {

void BoardFanout::Handle(BoardEntry&& entry) {
  std::visit([this](const auto& body) { On(body); }, entry);
  if (behind_ && !MayPutOff()) Flush();
}

// Depth() may count up to kBudget entries that Run() has already handled, because Run() subtracts
// them only at its end. With more than twice that, at least one entry is still to be handled, and
// the last entry flushes.
bool BoardFanout::MayPutOff() const { return Depth() > 2 * lockfree::FanoutPool::kBudget; }

void BoardFanout::Flush() {
  behind_ = false;
  for (std::size_t i = 0; i != ready_.size();) {
    Subscriber* const subscriber = ready_[i];
    if (Fill(subscriber)) {
      ++i;
    } else {
      Park(subscriber);  // puts another subscriber at index i
    }
  }
}

void BoardFanout::On(const SignalEntry& entry) {
  board_.Apply(entry.signal);
  behind_ = true;
}

void BoardFanout::On(const ForgetEntry& entry) {
  if (behind_) Flush();
  const std::uint64_t change = board_.Forget(entry.job);
  if (change == 0) return;
  // Subscribers that were attached when the job was deleted must receive the delete. (Later ones
  // receive it only as part of their snapshot, while it is retained.)
  std::vector<core::StreamId> owed;
  for (const auto& [id, subscriber] : subscribers_) {
    if (subscriber.cursor < change && subscriber.attached_at < change) owed.push_back(id);
  }
  for (core::StreamId id : owed) {
    subscribers_.find(id)->second.stream->PostClosed();
    End(id, base::ExhaustedError("the client read job signals so slowly that the deletion of a job "
                                 "expired before it was sent; subscribe again"));
  }
}

void BoardFanout::On(const RoomEntry& entry) {
  const auto found = subscribers_.find(entry.id);
  if (found != subscribers_.end() && found->second.place == kWaits) FillAndPlace(&found->second);
}

void BoardFanout::On(const AttachEntry& entry) {
  Subscriber& subscriber = subscribers_[entry.id];
  subscriber.id = entry.id;
  subscriber.stream = entry.stream;
  subscriber.topic = entry.topic;
  subscriber.attached_at = board_.last_change();
  if (entry.topic == core::Topic::kSignalList) {
    subscriber.snapshot = board_.Snapshot();
    subscriber.cursor = board_.last_change();
    subscriber.report_time = base::WallNow();
  }
  entry.stream->Announce();
  FillAndPlace(&subscriber);
}

void BoardFanout::On(const EndEntry& entry) { End(entry.id, *entry.status); }

void BoardFanout::On(const EndAllEntry& entry) {
  for (const auto& [id, subscriber] : subscribers_) subscriber.stream->End(*entry.status);
  subscribers_.clear();
  ready_.clear();
  board_.Clear();
  uuids_ = base::UuidSeries();  // change numbers restart
  behind_ = false;
}

bool BoardFanout::Fill(Subscriber* subscriber) {
  if (subscriber->snapshot != nullptr && !FillPages(subscriber)) return false;
  while (JobBoard::Item* const item = board_.After(subscriber->cursor, subscriber->attached_at)) {
    const EncodedMessage& message =
        subscriber->topic == core::Topic::kSignalList ? ListOfOne(item) : Single(item);
    if (!subscriber->stream->Ready(message.size)) return false;
    (void)subscriber->stream->Send(message.bytes);
    subscriber->cursor = item->signal->change;
  }
  return true;
}

bool BoardFanout::FillPages(Subscriber* subscriber) {
  const std::vector<core::SignalPtr>& signals = *subscriber->snapshot;
  std::vector<EncodedMessage> page;
  while (subscriber->sent != signals.size()) {
    // Checked before the page is encoded, too: encoding is expensive.
    if (!subscriber->stream->Ready(1)) return false;
    page.clear();
    std::size_t size = Encoder::kListBytesOnce;
    for (std::size_t i = subscriber->sent; i != signals.size(); ++i) {
      EncodedMessage message = Single(signals[i]);
      size += message.size + Encoder::kListBytesEach;
      if (size > kMessageBytesMax && !page.empty()) break;
      page.push_back(std::move(message));
    }
    const EncodedMessage list =
        encoder_.JobSignalList(page, subscriber->report_time, signals.size());
    if (!subscriber->stream->Ready(list.size)) return false;
    (void)subscriber->stream->Send(list.bytes);
    subscriber->sent += page.size();
  }
  subscriber->snapshot.reset();
  return true;
}

void BoardFanout::FillAndPlace(Subscriber* subscriber) {
  if (!Fill(subscriber)) return;
  subscriber->place = ready_.size();
  ready_.push_back(subscriber);
}

void BoardFanout::Park(Subscriber* subscriber) {
  Subscriber* const last = ready_.back();
  last->place = subscriber->place;
  ready_[subscriber->place] = last;
  ready_.pop_back();
  subscriber->place = kWaits;
}

void BoardFanout::End(core::StreamId id, const base::Status& status) {
  const auto found = subscribers_.find(id);
  if (found == subscribers_.end()) return;
  StreamPort* const stream = found->second.stream;
  if (found->second.place != kWaits) Park(&found->second);
  subscribers_.erase(found);
  stream->End(status);
}

EncodedMessage BoardFanout::Single(const core::SignalPtr& signal) {
  JobBoard::Item* const item = board_.Find(signal->change);
  // Null: a later change has replaced it since the snapshot was taken.
  return item != nullptr ? Single(item) : encoder_.JobSignal(*signal, uuids_.Text(signal->change));
}

const EncodedMessage& BoardFanout::Single(JobBoard::Item* item) {
  if (item->single.bytes == nullptr) {
    item->single = encoder_.JobSignal(*item->signal, uuids_.Text(item->signal->change));
  }
  return item->single;
}

const EncodedMessage& BoardFanout::ListOfOne(JobBoard::Item* item) {
  if (item->list.bytes == nullptr) {
    item->list = encoder_.JobSignalList({Single(item)}, base::WallNow(), 1);
  }
  return item->list;
}

}  // namespace assay::control

#include "tests/simulation/clients.h"

#include <algorithm>
#include <utility>

namespace assay::simulation {
namespace {

constexpr int kJobs = 4;
constexpr const char* kNodes[] = {"a", "b", "c", "d"};  // d has no agent
constexpr std::int32_t kDevices = 4;

std::string JobNamed(std::int64_t number) { return "job" + std::to_string(number); }

}  // namespace

void Clients::Start() {
  for (int i = 0; i < kJobs; ++i) Apply(JobNamed(i));
  Act();
}

void Clients::PostLater(core::Ms delay, core::Event event) {
  world_.At(delay, [this, event = std::move(event)] { call(event); });
}

std::string Clients::AnyJob() {
  return world_.Chance(world_.faults.strange / 4) ? "no such job" : JobNamed(world_.Below(kJobs));
}
std::string Clients::AnyNode() { return kNodes[world_.Below(4)]; }

void Clients::Act() {
  if (world_.healed) return;
  world_.At(world_.Delay(world_.faults.between), [this] { Act(); });
  Wander();
  const std::string job = AnyJob();
  if (!world_.Chance(world_.faults.meddle)) {
    const std::int64_t what = world_.Below(10);
    if (what < 6) return AskForTest(job);
    return Open(job, what < 8 ? core::Topic::kNotify : core::Topic::kResult);
  }
  switch (world_.Below(7)) {
    case 0:
    case 1:
      return Post(core::RunCancelled{world_.NextId(), {}, newest_run() - world_.Below(4)});
    case 2:
      return Post(core::JobDeleted{world_.NextId(), {}, job});
    case 3:
      return Post(core::JobStateSet{
          world_.NextId(), {}, job, static_cast<core::JobState>(world_.Below(4))});
    case 4:
      return Post(core::NodeForgotten{world_.NextId(), {}, AnyNode()});
    case 5:
      if (world_.Chance(200)) return Post(core::JobFilesListed{world_.NextId(), {}, {job}});
      return Post(core::JobFileGone{world_.NextId(), {}, job});
    default:
      return Apply(JobNamed(world_.Below(kJobs)));
  }
}

void Clients::Apply(const std::string& job) {
  core::JobApplied applied;
  applied.call = world_.NextId();
  applied.spec.id = job;
  applied.spec.name = "of " + job;
  if (world_.Chance(world_.faults.meddle)) applied.file = std::to_string(applied.call);
  auto table = std::make_shared<rank_table::RankTable>();
  const bool ready = !world_.Chance(world_.faults.strange / 4);
  for (std::size_t i = 0; ready && i < 4; ++i) {
    if (!world_.Chance(i == 3 ? 200 : 700)) continue;
    const auto node = static_cast<std::uint32_t>(table->nodes.size());
    std::vector<rank_table::RankPlace> places;
    const std::int32_t first = static_cast<std::int32_t>(world_.Below(kDevices));
    for (std::int32_t device = first; device < kDevices; ++device) {
      if (!world_.Chance(700)) continue;
      const auto rank = static_cast<std::int32_t>(table->ranks.size() + places.size());
      // Sometimes a device that does not exist, or the host's processor (-1).
      const bool odd = world_.Chance(world_.faults.strange / 10);
      places.push_back({rank, odd ? (world_.Chance(500) ? -1 : device + 20) : device, node});
    }
    if (places.empty()) continue;
    const bool by_host = world_.Chance(world_.faults.strange / 4);
    table->nodes.push_back({by_host ? std::string("host-") + kNodes[i] : kNodes[i], {}});
    table->ranks.insert(table->ranks.end(), places.begin(), places.end());
  }
  applied.table_text = "table " + std::to_string(world_.NextId());
  applied.hccl = std::make_shared<const std::string>("hccl of " + applied.table_text);
  if (table->ranks.empty()) {
    table->nodes.clear();
    applied.table_text.clear();
  }
  applied.table = std::move(table);
  if (world_.Chance(world_.faults.meddle)) {
    applied.state = static_cast<core::JobState>(world_.Below(4));
  }
  Post(std::move(applied));
}

void Clients::AskForTest(const std::string& job) {
  core::StressRequested asked;
  asked.call = world_.NextId();
  asked.job = job;
  asked.demand = static_cast<core::ExecutorDemand>(world_.Below(3));
  asked.check = world_.Chance(world_.faults.strange / 4);
  const std::vector<std::int64_t> ops[] = {{0}, {1}, {0, 1}, {1, 0}};
  if (world_.Chance(700)) {
    asked.all_ops = ops[world_.Below(4)];
  } else {
    for (int i = 0; i < 3; ++i) asked.node_ops[AnyNode()] = ops[world_.Below(4)];
  }
  if (world_.Chance(world_.faults.strange / 2)) {
    const std::vector<std::int64_t> bad[] = {{}, {2}, {0, 0}, {-1, 0, 1}};
    asked.all_ops = bad[world_.Below(4)];
  }
  Post(std::move(asked));
  // Running jobs block tests of devices they share: sometimes change another job's state.
  if (world_.Chance(300)) {
    Post(core::JobStateSet{
        world_.NextId(),
        {},
        JobNamed(world_.Below(kJobs)),
        world_.Chance(500) ? core::JobState::kComplete : core::JobState::kRunning});
  }
}

void Clients::AskForAll(const std::string& job, std::function<void(const core::Answer&)> answered) {
  core::StressRequested asked;
  asked.call = world_.NextId();
  asked.job = job;
  asked.demand = core::ExecutorDemand::kAgent;
  asked.all_ops = {0, 1};
  waiting_[asked.call] = std::move(answered);
  for (int i = 0; i < kJobs; ++i) {
    const core::JobState state =
        JobNamed(i) == job ? core::JobState::kRunning : core::JobState::kComplete;
    PostLater(0, core::JobStateSet{world_.NextId(), {}, JobNamed(i), state});
  }
  PostLater(5, std::move(asked));
}

std::vector<std::string> Clients::Jobs() const {
  std::vector<std::string> jobs;
  for (int i = 0; i < kJobs; ++i) jobs.push_back(JobNamed(i));
  return jobs;
}

void Clients::Answered(const core::Answer& answer) {
  const auto waiting = waiting_.find(answer.call);
  if (waiting == waiting_.end()) return;
  const auto then = std::move(waiting->second);
  waiting_.erase(waiting);
  then(answer);
}

// --- Streams -------------------------------------------------------------------------------------

void Clients::Open(const std::string& job, core::Topic topic) {
  if (!reachable() || streams_.size() > 40) return;
  core::StreamOpened opened;
  opened.topic = topic;
  opened.job = job;
  const core::StreamId id = all_.Open(std::move(opened), this);
  streams_[id] = Stream{topic, job};
  // The close of one that leaves at once often overtakes its opening.
  if (world_.Chance(world_.faults.wander)) Close(id);
}

void Clients::Close(core::StreamId id) {
  if (!std::exchange(streams_.at(id).closed, true)) all_.Close(id);
}

void Clients::Received(core::StreamId id, const Message& message) {
  Stream& stream = streams_.at(id);
  ++stream.received;
  world_.Require(message.job == stream.job, "a stream got a message of another job");
  if (stream.topic == core::Topic::kResult) {
    world_.Require(stream.received <= 1, "a result stream received two messages");
    return;
  }
  const auto unread = unread_.find(stream.job);
  if (unread == unread_.end()) return;  // another stream of the job has executed it
  const core::PublishNotify notify = std::move(unread->second);
  unread_.erase(unread);
  Execute(notify);
}

void Clients::Ended(core::StreamId id, const base::Status& status) {
  Stream& stream = streams_.at(id);
  stream.ended = true;
  const bool complete =
      stream.topic != core::Topic::kResult || !status.ok() || stream.received == 1 || stream.closed;
  world_.Require(complete, "a result stream ended with OK and without a result");
}

void Clients::Wander() {
  std::vector<core::StreamId> leaving;
  for (const auto& [id, stream] : streams_) {
    if (!stream.closed && world_.Chance(world_.faults.wander)) leaving.push_back(id);
  }
  for (const core::StreamId id : leaving) Close(id);
  std::erase_if(streams_, [](const auto& entry) { return entry.second.orphaned; });
}

void Clients::Outage() {
  for (auto& [id, stream] : streams_) stream.attached = false;
}

void Clients::CoordinatorDied() {
  for (auto& [id, stream] : streams_) stream.orphaned = true;
}

void Clients::Hear(const core::AttachStream& effect) {
  const auto stream = streams_.find(effect.stream);
  if (stream == streams_.end()) return world_.Fail("attached: a stream that never existed");
  const bool good = !stream->second.attached && stream->second.messages == 0 &&
                    stream->second.job == effect.job && stream->second.topic == effect.topic;
  world_.Require(good,
                 "a stream was attached twice, after a message, or with a wrong job or topic");
  stream->second.attached = true;
}

void Clients::EndedBy(core::StreamId id, int messages) {
  Stream& stream = streams_.at(id);
  stream.attached = false;
  stream.messages += messages;
  world_.Require(stream.messages <= 1, "a result stream got two messages");
}

void Clients::Hear(const core::PublishResult& effect) {
  for (const auto& [id, stream] : std::map<core::StreamId, Stream>(streams_)) {
    if (stream.attached && stream.topic == core::Topic::kResult && stream.job == effect.job) {
      EndedBy(id, 1);
    }
  }
}

void Clients::Hear(const core::ReplayResult& effect) {
  const auto stream = streams_.find(effect.stream);
  if (stream == streams_.end()) return world_.Fail("replayed to a stream that never existed");
  world_.Require(!stream->second.attached, "replayed to a stream that is attached");
  EndedBy(effect.stream, 1);
}

void Clients::Hear(const core::EndStream& effect) {
  const auto stream = streams_.find(effect.stream);
  if (stream == streams_.end()) return world_.Fail("ended: a stream that never existed");
  world_.Require(stream->second.attached == !effect.job.empty(),
                 "ended: the effect has a job but the stream is not attached, or the reverse");
  EndedBy(effect.stream, 0);
}

void Clients::Hear(const core::PublishNotify& effect) {
  for (auto& [id, stream] : streams_) {
    if (!stream.attached || stream.topic != core::Topic::kNotify || stream.job != effect.job) {
      continue;
    }
    ++stream.notices;
    unread_[effect.job] = effect;
  }
}

// --- Training agents -----------------------------------------------------------------------------

core::ReplyItem Clients::ItemOf(std::int32_t rank, core::Op op) {
  core::ReplyItem item;
  item.rank = std::to_string(rank);
  item.op = std::to_string(static_cast<int>(op));
  item.code =
      std::to_string(world_.Chance(world_.faults.bad) ? world_.Below(core::kOutcomeCodes) : 0);
  item.text = "all-ok, again";
  if (!world_.Chance(world_.faults.strange / 4)) return item;
  std::string* const field[] = {&item.rank, &item.op, &item.code};
  const char* const nonsense[] = {"", "x", "-1", "7", "999", "99999999999999999999"};
  *field[world_.Below(3)] = nonsense[world_.Below(6)];
  return item;
}

void Clients::Execute(const core::PublishNotify& notify) {
  if (!world_.healed && world_.Chance(world_.faults.silent / 2)) return;
  const bool whole = world_.healed || !world_.Chance(world_.faults.silent / 2);
  std::vector<core::ReplyItem> items;
  const core::Ms longest = world_.settings.aic_deadline + world_.settings.p2p_deadline;
  const auto send = [&] {
    const bool late = !world_.healed && world_.Chance(world_.faults.late);
    core::Ms delay = world_.Delay(late ? 3 * longest : longest / 2);
    for (int times = world_.Chance(world_.faults.repeat) ? 3 : 1; times > 0; --times) {
      PostLater(delay, core::Replied{world_.NextId(), {}, notify.job, items});
      delay += 1'000 + world_.Below(3'000);
    }
    items.clear();
  };
  for (const core::RankOps& rank : *notify.ranks) {
    for (const core::Op op : rank.ops) {
      if (!whole && world_.Chance(300)) continue;
      items.push_back(ItemOf(rank.rank, op));
      if (world_.Chance(150)) send();
    }
  }
  if (!items.empty()) send();
}

// --- Healing and settling ------------------------------------------------------------------------

void Clients::Heal() {
  for (const auto& [id, stream] : std::map<core::StreamId, Stream>(streams_)) {
    if (stream.topic == core::Topic::kNotify || world_.Chance(300)) Close(id);
  }
}

std::string Clients::Pending(const Disk& disk) const {
  for (const auto& [id, stream] : streams_) {
    const std::string shown = "stream " + std::to_string(id) + " of " + stream.job;
    if (stream.orphaned) continue;
    if (stream.closed && !stream.ended)
      return shown + " is closed but the coordinator has not ended it";
    if (stream.topic == core::Topic::kResult && !stream.ended) return shown + " waits for a result";
    if (!stream.closed && !stream.ended && stream.received != stream.notices) {
      return shown + " did not receive every notification";
    }
  }
  for (const auto& [id, run] : disk.all.runs) {
    if (run.state != core::RunState::kClosed) return "run " + std::to_string(id) + " is open";
  }
  for (const auto& [device, run] : disk.all.leases) {
    return "device " + std::to_string(device.device) + " of " + device.node + " is leased to run " +
           std::to_string(run);
  }
  return "";
}

}  // namespace assay::simulation

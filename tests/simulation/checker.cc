#include "tests/simulation/checker.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "tests/simulation/agent.h"
#include "tests/simulation/trace.h"

namespace assay::simulation {
namespace {

constexpr core::Ms kLateMs =
    10'000;  // slack for late ticks and for failed commits, which are repeated

// Details of outcomes of ops that were never started.
constexpr std::string_view kNeverStarted[] = {"executor not connected", "executor not ready within",
                                              "agent restarted before the test began",
                                              "not started after"};
// Details of outcomes that the coordinator makes itself.
constexpr std::string_view kOwnWords[] = {"executor not connected",
                                          "executor not ready within",
                                          "cancelled",
                                          "the agent no longer has the test",
                                          "no answer by the deadline of the run",
                                          "no answer from the agent by the deadline",
                                          "no reply from the subscriber by the deadline"};

template <class Texts>
bool BeginsWithOne(const std::string& text, const Texts& texts) {
  return std::any_of(std::begin(texts), std::end(texts),
                     [&](std::string_view one) { return text.starts_with(one); });
}

std::optional<core::CallId> CallOf(const core::Event& event) {
  return std::visit(
      [](const auto& one) -> std::optional<core::CallId> {
        if constexpr (requires { one.call; }) return one.call;
        return std::nullopt;
      },
      event);
}

// The number in a reply's field; -1 if it is not a number of 1 to 5 digits.
int Digits(const std::string& text) {
  if (text.empty() || text.size() > 5) return -1;
  if (!std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return -1;
  return std::stoi(text);
}

const core::RankTest* FindRank(const core::Run& run, std::int32_t number) {
  for (const core::RankTest& rank : run.ranks) {
    if (rank.rank == number) return &rank;
  }
  return nullptr;
}

int AgentNamed(const std::string& name) { return name.size() == 1 ? name[0] - 'a' : -1; }

}  // namespace

// --- Steps of the coordinator --------------------------------------------------------------------

void Checker::CoordinatorStarted(const Disk& disk) {
  judged_from_ = world_.now() + world_.settings.resume_grace;
  for (const auto& [id, run] : disk.all.runs) {
    for (const core::RankTest& rank : run.ranks) {
      for (const core::Op op : core::kAllOps) {
        const auto had = stored_.find({id, rank.rank, op});
        if ((had != stored_.end()) != rank.answered.Has(op)) {
          world_.Fail("an outcome of run " + std::to_string(id) +
                      " appeared or disappeared while the coordinator was down");
        } else if (had != stored_.end() && had->second != rank.outcomes[op]) {
          world_.Fail("an outcome of run " + std::to_string(id) +
                      " changed while the coordinator was down");
        }
      }
    }
  }
}

void Checker::BeforeStep(const core::Event& event, const core::Durable& durable) {
  replied_.clear();
  leaving_.clear();
  if (const auto call = CallOf(event)) {
    world_.Require(asked_.emplace(*call, Asked()).second, "a call was stepped twice");
  }
  if (const auto* reply = std::get_if<core::Replied>(&event)) See(*reply, durable);
  if (const auto* forgotten = std::get_if<core::NodeForgotten>(&event)) {
    for (const auto& [device, run] : durable.leases) {
      if (device.node == forgotten->node) leaving_.insert(run);
    }
  }
}

void Checker::See(const core::Replied& reply, const core::Durable& durable) {
  for (const auto& [id, run] : durable.runs) {
    const bool waits =
        run.state == core::RunState::kTesting || run.state == core::RunState::kCancelling;
    if (run.job != reply.job || run.executor != core::Executor::kSubscriber || !waits) continue;
    Asked& asked = asked_.at(reply.call);
    for (const core::ReplyItem& item : reply.items) {
      const auto op = core::OpFromWire(Digits(item.op));
      const auto code = core::OutcomeCodeFromInt(Digits(item.code));
      const core::RankTest* rank = FindRank(run, Digits(item.rank));
      if (rank == nullptr || !op || !code || !rank->ops.Has(*op)) continue;
      const core::OutcomeKey key{id, rank->rank, *op};
      asked.keys.push_back(key);
      if (!rank->answered.Has(*op)) replied_.emplace(key, *code);
    }
  }
}

void Checker::Stepped(const core::Event& event, const core::Output& out, std::size_t record,
                      std::size_t effect, const core::cluster::Cluster& cluster) {
  const std::optional<core::CallId> call = CallOf(event);
  int answers = 0;
  for (; effect < out.effects.size(); ++effect) {
    const auto* answer = std::get_if<core::Answer>(&out.effects[effect]);
    if (answer == nullptr) continue;
    ++answers;
    world_.Require(answer->call == call, "a step answers another call than its own");
  }
  world_.Require(answers == (call ? 1 : 0), "a step does not answer its call exactly once");
  CheckOwing(event, out, record, cluster.durable());
  std::size_t replied = 0;
  for (; record < out.records.size(); ++record) {
    if (const auto* put = std::get_if<core::PutOutcome>(&out.records[record])) {
      CheckOutcome(event, *put);
      if (std::holds_alternative<core::Replied>(event)) ++replied;
    }
    if (std::holds_alternative<core::DropNode>(out.records[record])) {
      forgotten_.insert(leaving_.begin(), leaving_.end());
    }
  }
  world_.Require(replied == replied_.size(), "not every valid item of a reply was recorded");
  CheckOpenRuns(cluster.durable(), std::holds_alternative<core::Ticked>(event));
}

void Checker::CheckOutcome(const core::Event& event, const core::PutOutcome& record) {
  const core::OutcomeKey key{record.run, record.rank, record.op};
  const core::Outcome& outcome = record.outcome;
  const auto* said = std::get_if<core::LinkMessage>(&event);
  if (std::holds_alternative<core::Replied>(event)) {
    const auto item = replied_.find(key);
    if (item == replied_.end() || item->second != outcome.code) {
      world_.Fail(Text(key) + " is not what its subscriber replied");
    }
  } else if (said != nullptr && std::holds_alternative<core::Outcomes>(said->message)) {
    const auto had = spooled_.find(key);
    const auto refused = refused_.find(key);
    if (refused != refused_.end() && outcome.code == core::OutcomeCode::kNotRun &&
        refused->second == outcome.detail) {
      return;
    }
    if (had == spooled_.end() || had->second.code != outcome.code ||
        had->second.detail != outcome.detail) {
      world_.Fail(Text(key) + " is not what its agent recorded: " + outcome.detail);
    }
  } else if (!BeginsWithOne(outcome.detail, kOwnWords)) {
    world_.Fail(Text(key) + " was neither reported nor made by the coordinator: " + outcome.detail);
  }
}

// A subscriber that did not answer may still be testing, so its job must refuse new tests.
void Checker::CheckOwing(const core::Event& event, const core::Output& out, std::size_t record,
                         const core::Durable& durable) {
  if (std::holds_alternative<core::Replied>(event)) return;
  std::set<core::RunId> answered;
  for (; record < out.records.size(); ++record) {
    if (const auto* put = std::get_if<core::PutOutcome>(&out.records[record]))
      answered.insert(put->run);
    const auto* header = std::get_if<core::PutRunHeader>(&out.records[record]);
    if (header == nullptr || header->run.state != core::RunState::kClosed) continue;
    const core::RunHeader& run = header->run;
    if (run.executor != core::Executor::kSubscriber || run.started == 0) continue;
    const core::Ms owing = durable.jobs.find(run.job)->second.owing_until;
    if (answered.count(run.id) > 0 && owing != world_.now() + world_.settings.owing) {
      world_.Fail("the job of run " + std::to_string(run.id) + " does not wait for its late reply");
    }
  }
}

void Checker::CheckOpenRuns(const core::Durable& durable, bool ticked) {
  std::set<std::string_view> jobs;
  for (const auto& [id, run] : durable.runs) {
    if (run.state == core::RunState::kClosed) continue;
    const std::string name = "run " + std::to_string(id);
    if (!jobs.insert(run.job).second) world_.Fail("job " + run.job + " has two open runs");
    const core::Ms due = std::max(run.deadline, judged_from_);
    if (ticked && due <= world_.now()) world_.Fail(name + " is still open at its deadline");
    if (due + kLateMs <= world_.now()) world_.Fail(name + " is still open after its deadline");
    const auto first = deadlines_.find(id);
    if (first != deadlines_.end() && run.deadline > std::max(first->second, judged_from_)) {
      world_.Fail(name + " has a later deadline than at its start");
    }
  }
}

// --- What is stored ------------------------------------------------------------------------------

void Checker::Store(const core::Record& record, const Disk& disk) {
  std::visit([&](const auto& one) { Keep(one, disk); }, record);
}

void Checker::Compare(const Disk& disk, const core::Durable& live) {
  const std::string difference = Difference(disk, live, judged_from_);
  if (!difference.empty())
    world_.Fail("the stored state differs from the cluster's: " + difference);
}

void Checker::Keep(const core::PutRun& record, const Disk&) {
  world_.Require(deadlines_.emplace(record.run->id, record.run->deadline).second,
                 "a run number was used twice");
}

void Checker::Keep(const core::PutRunHeader& record, const Disk&) {
  if (closed_.count(record.run.id) > 0) world_.Fail("a closed run was written again");
  if (record.run.state != core::RunState::kClosed) return;
  closed_.insert(record.run.id);
  world_.Require(record.run.ended == world_.now() || record.run.ended > 0,
                 "a closed run has no end time");
}

void Checker::Keep(const core::PutOutcome& record, const Disk& disk) {
  const core::OutcomeKey key{record.run, record.rank, record.op};
  if (closed_.count(record.run) > 0) world_.Fail("an outcome of a closed run: " + Text(key));
  const auto run = disk.all.runs.find(record.run);
  const bool known = run != disk.all.runs.end() && FindRank(run->second, record.rank) != nullptr;
  world_.Require(known, "an outcome of a rank that is not stored");
  if (!stored_.emplace(key, record.outcome).second) {
    world_.Fail("an outcome was stored again: " + Text(key));
  }
  CheckNeverStarted(key, record.outcome);
}

void Checker::CheckNeverStarted(const core::OutcomeKey& key, const core::Outcome& outcome) {
  if (begun_.count(key) > 0 && BeginsWithOne(outcome.detail, kNeverStarted)) {
    world_.Fail(Text(key) + " had begun, but its detail is: " + outcome.detail);
  }
}

void Checker::Keep(const core::PutLease& record, const Disk& disk) {
  const auto had = disk.all.leases.find(record.device);
  if (had != disk.all.leases.end() && had->second != record.run) {
    world_.Fail("a lease of run " + std::to_string(had->second) + " was given to another run");
  }
  const Device device{AgentNamed(record.device.node), record.device.device};
  leased_[device] = record.run;
  CheckHolder(device, record.run);
}

// Fails if a worker of another run holds the device.
void Checker::CheckHolder(Device device, core::RunId run) {
  for (const auto* held : {&working_, &safing_}) {
    for (const auto& [who, on] : *held) {
      if (Device{who.first, on} != device || who.second.run == run) continue;
      if (forgotten_.count(who.second.run) > 0) continue;
      world_.Fail("a device is leased to run " + std::to_string(run) + " while it is held by run " +
                  std::to_string(who.second.run));
    }
  }
}

void Checker::Keep(const core::DropLease& record, const Disk& disk) {
  const auto had = disk.all.leases.find(record.device);
  if (had == disk.all.leases.end()) return;
  const Device device{AgentNamed(record.device.node), record.device.device};
  leased_.erase(device);
  if (forgotten_.count(had->second) > 0) return;
  for (const auto* held : {&working_, &safing_}) {
    for (const auto& [who, on] : *held) {
      if (Device{who.first, on} != device || who.second.run != had->second) continue;
      world_.Fail("a lease ended while run " + std::to_string(had->second) + " holds the device");
    }
  }
}

// --- Effects -------------------------------------------------------------------------------------

void Checker::Released(const core::Effect& effect, const Disk& disk) {
  world_.Trace("effect", [&] { return Text(effect); });
  std::visit([&](const auto& one) { Check(one, disk); }, effect);
}

void Checker::Check(const core::Answer& answer, const Disk& disk) {
  const auto asked = asked_.find(answer.call);
  if (asked == asked_.end()) return world_.Fail("an answer to a call that is not waiting");
  for (const core::OutcomeKey& key : asked->second.keys) {
    if (!IsStored(key)) world_.Fail("a reply was answered but is not stored: " + Text(key));
  }
  if (answer.verdict == core::Verdict::kAccepted && answer.run != core::kNoRun &&
      disk.all.runs.count(answer.run) == 0) {
    world_.Fail("a run was accepted but is not stored");
  }
  asked_.erase(asked);
}

void Checker::Check(const core::PublishNotify& notify, const Disk& disk) {
  world_.Require(notified_.insert(notify.run).second, "a run was notified twice");
  const auto run = disk.all.runs.find(notify.run);
  world_.Require(run != disk.all.runs.end() && run->second.started > 0,
                 "a run was notified but is not stored as started");
}

void Checker::Check(const core::PublishResult& effect, const Disk& disk) {
  CheckResult(effect.run, *effect.message, disk);
}
void Checker::Check(const core::ReplayResult& effect, const Disk& disk) {
  CheckResult(effect.run, *effect.message, disk);
}
void Checker::CheckResult(core::RunId id, const std::string& message, const Disk& disk) {
  const auto run = disk.all.runs.find(id);
  const bool stored = run != disk.all.runs.end() && run->second.state == core::RunState::kClosed &&
                      run->second.message == message;
  world_.Require(stored, "a result was published but is not stored");
}

void Checker::Check(const core::ToAgent& effect, const Disk& disk) {
  if (const auto* start = std::get_if<core::Start>(&effect.message)) {
    const auto run = disk.all.runs.find(start->run);
    world_.Require(run != disk.all.runs.end() && run->second.started > 0,
                   "a run was started but is not stored as started");
  }
  const auto* ack = std::get_if<core::Ack>(&effect.message);
  if (ack == nullptr) return;
  for (const core::OutcomeKey& key : ack->keys) {
    const auto run = disk.all.runs.find(key.run);
    const core::RankTest* rank =
        run == disk.all.runs.end() ? nullptr : FindRank(run->second, key.rank);
    if (rank == nullptr || !rank->ops.Has(key.op)) continue;
    if (!IsStored(key)) world_.Fail("an outcome was acknowledged but is not stored: " + Text(key));
  }
}

void Checker::Spoil(Disk* disk) const {
  if (world_.canary == Canary::kLoseLease) {
    disk->all.leases.clear();
    return;
  }
  for (auto& [id, run] : disk->all.runs) {
    for (core::RankTest& rank : run.ranks) {
      for (const core::Op op : rank.answered) rank.outcomes[op].detail += "!";
    }
  }
}

}  // namespace assay::simulation

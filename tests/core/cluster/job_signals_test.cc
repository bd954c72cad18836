#include "core/cluster/job_signals.h"

#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/support/cluster_world.h"

using namespace assay::core;
using namespace assay::core::cluster;
using namespace assay::rank_table;
using namespace assay::support;

namespace {

struct JobsWorld : World {
  void Apply(const std::string& id, int ranks, std::optional<JobState> state = std::nullopt) {
    std::vector<int> devices;
    for (int i = 0; i < ranks; ++i) devices.push_back(i);
    JobApplied applied;
    applied.call = NextId();
    applied.spec.id = id;
    applied.state = state;
    applied.table = ranks == 0 ? std::make_shared<const RankTable>() : MakeTable({{"n", devices}});
    if (ranks != 0) applied.table_text = "table of " + std::to_string(ranks);
    applied.hccl = std::make_shared<const std::string>("hccl of " + std::to_string(ranks));
    Step(applied);
  }
  void Set(const std::string& id, JobState state) { Step(JobStateSet{NextId(), {}, id, state}); }
  void Delete(const std::string& id) { Step(JobDeleted{NextId(), {}, id}); }
  std::vector<Signal> Signals() const {
    std::vector<Signal> signals;
    for (const PublishSignal& published : Last<PublishSignal>()) {
      signals.push_back(*published.signal);
    }
    return signals;
  }
};

}  // namespace

TEST_CASE("every change of a job is one signal; without a change there is no signal") {
  JobsWorld world;
  world.Apply("j", 0);
  REQUIRE(world.Signals().size() == 1);
  CHECK(world.Signals()[0].state == JobState::kPending);
  CHECK(world.Signals()[0].job.id == "j");
  CHECK(world.Signals()[0].created == world.now());
  const Ms created = world.now();

  world.Apply("j", 0);
  CHECK(world.Signals().empty());

  world.Pass(5000);
  world.Apply("j", 2);
  REQUIRE(world.Signals().size() == 1);
  CHECK(world.Signals()[0].state == JobState::kRunning);
  CHECK(*world.Signals()[0].hccl == "hccl of 2");
  CHECK(world.Signals()[0].created == created);
  CHECK(world.Signals()[0].ended == 0);

  world.Set("j", JobState::kRunning);
  CHECK(world.Signals().empty());
  CHECK_FALSE(world.Last<Answer>().at(0).changed);

  world.Pass(5000);
  world.Set("j", JobState::kComplete);
  REQUIRE(world.Signals().size() == 1);
  CHECK(world.Signals()[0].ended == world.now());
  const Ms ended = world.now();

  SECTION("a new table does not change the end time") {
    world.Pass(5000);
    world.Apply("j", 3);
    REQUIRE(world.Signals().size() == 1);
    CHECK(world.Signals()[0].ended == ended);
    CHECK(*world.Signals()[0].hccl == "hccl of 3");
  }
  SECTION("failed after complete sets a new end time, pending clears it") {
    world.Pass(5000);
    world.Set("j", JobState::kFailed);
    CHECK(world.Signals().at(0).ended == world.now());
    world.Set("j", JobState::kPending);
    CHECK(world.Signals().at(0).ended == 0);
  }
  SECTION("the delete is the last signal of a job") {
    world.Pass(5000);
    world.Delete("j");
    REQUIRE(world.Signals().size() == 1);
    CHECK(world.Signals()[0].deleted);
    CHECK(world.Signals()[0].ended == world.now());
    CHECK(world.Signals()[0].state == JobState::kComplete);
    CHECK(*world.Signals()[0].hccl == "hccl of 2");
    world.Delete("j");
    CHECK(world.Signals().empty());
  }
}

TEST_CASE("the delete signal omits a table larger than 16 KiB") {
  JobsWorld world;
  for (const std::size_t size : {std::size_t{16} << 10, (std::size_t{16} << 10) + 1}) {
    JobApplied applied;
    applied.call = world.NextId();
    applied.spec.id = "j";
    applied.table = MakeTable({{"n", {0}}});
    applied.table_text = "a table";
    applied.hccl = std::make_shared<const std::string>(size, 'x');
    world.Step(applied);
    CHECK(world.Signals().at(0).hccl->size() == size);
    world.Delete("j");
    CHECK(world.Signals().at(0).hccl->size() == (size == std::size_t{16} << 10 ? size : 0));
    CHECK(*world.durable().deleted.at("j").hccl == *world.Signals().at(0).hccl);
  }
}

TEST_CASE("signals are numbered in the order of the changes") {
  JobsWorld world;
  std::uint64_t last = 0;
  for (int i = 0; i < 20; ++i) {
    world.Apply("j" + std::to_string(i % 3), 1 + i);
    REQUIRE(world.Signals().size() == 1);
    CHECK(world.Signals()[0].change > last);
    last = world.Signals()[0].change;
  }
}

TEST_CASE("after a restart all signals are sent again, a delete before the job's new state") {
  JobsWorld world;
  world.Apply("old", 1);
  world.Apply("gone", 1);
  world.Pass(1000);
  world.Delete("gone");
  world.Apply("twice", 1);
  world.Delete("twice");
  world.Apply("twice", 2);
  world.Restart();
  world.Step(Ticked{});
  std::vector<std::string> said;
  for (const Signal& signal : world.Signals()) {
    said.push_back(signal.job.id + (signal.deleted ? " deleted" : ""));
  }
  CHECK(said == std::vector<std::string>{"old", "gone deleted", "twice deleted", "twice"});
  world.Step(Ticked{});
  CHECK(world.Signals().empty());
}

TEST_CASE("a deleted job is retained for an hour, across restarts") {
  JobsWorld world;
  world.Apply("j", 1);
  world.Delete("j");
  const Ms deleted = world.now();
  CHECK(world.durable().deleted.at("j").deleted == deleted);
  world.Let(1'800'000);
  world.Restart();
  world.Let(1'799'000);
  CHECK(world.durable().deleted.contains("j"));
  CHECK(world.Ever<ForgetDeleted>().empty());
  CHECK(world.cluster().NextDeadline(world.now()) <= deleted + 3'600'000);
  world.Let(2000);
  CHECK_FALSE(world.durable().deleted.contains("j"));
  REQUIRE(world.Ever<ForgetDeleted>().size() == 1);
  CHECK(world.Ever<ForgetDeleted>()[0].job == "j");
}

TEST_CASE("the newest delete of a job is retained for its own full hour") {
  JobsWorld world;
  world.Apply("j", 1);
  world.Delete("j");
  world.Let(1'800'000);
  world.Apply("j", 2);
  world.Delete("j");
  world.Let(3'599'000);
  CHECK(*world.durable().deleted.at("j").hccl == "hccl of 2");
  world.Let(2000);
  CHECK(world.durable().deleted.empty());
  CHECK(world.Ever<ForgetDeleted>().size() == 1);
}

TEST_CASE("the number of retained deleted jobs is limited; the oldest are dropped first") {
  Settings settings;
  settings.deleted_max = 3;
  Durable durable;
  Cluster cluster(settings, durable, 1000);
  std::uint64_t call = 0;
  Output out;
  for (int i = 0; i < 5; ++i) {
    JobApplied applied;
    applied.call = ++call;
    applied.spec.id = "j" + std::to_string(i);
    applied.table = std::make_shared<const RankTable>();
    applied.hccl = std::make_shared<const std::string>("{}");
    cluster.Step(applied, 2000 + i, &out);
    cluster.Step(JobDeleted{++call, {}, applied.spec.id}, 2000 + i, &out);
  }
  CHECK(cluster.durable().deleted.size() == 3);
  CHECK(cluster.durable().deleted.begin()->first == "j2");
}

// At any moment, also after a restart, the last signal of each job equals the job in the cluster.
TEST_CASE("in random histories the signals reproduce the cluster's jobs", "[property]") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
  for (int round = 0; round < 200; ++round) {
    JobsWorld world;
    std::map<std::string, Signal> board;
    for (int i = 0; i < 60; ++i) {
      const std::string job = "j" + std::to_string(below(4));
      switch (below(6)) {
        case 0:
        case 1:
          world.Apply(
              job, below(3),
              below(3) == 0 ? std::optional(static_cast<JobState>(below(4))) : std::nullopt);
          break;
        case 2:
        case 3:
          world.Set(job, static_cast<JobState>(below(4)));
          break;
        case 4:
          world.Delete(job);
          break;
        default:
          if (below(2) == 0) {
            world.Pass(below(4'000'000));
          } else {
            world.Restart();
            board.clear();
          }
          world.Step(Ticked{});
      }
      for (const Signal& signal : world.Signals()) {
        const auto before = board.find(signal.job.id);
        if (before != board.end()) {
          CHECK(before->second.change < signal.change);
          // Two consecutive signals of a job differ.
          const Signal& old = before->second;
          CHECK_FALSE((old.deleted == signal.deleted && old.state == signal.state &&
                       old.job == signal.job && old.created == signal.created &&
                       old.ended == signal.ended && *old.hccl == *signal.hccl));
        }
        board[signal.job.id] = signal;
      }
      for (const ForgetDeleted& forgotten : world.Last<ForgetDeleted>()) {
        const auto found = board.find(forgotten.job);
        if (found != board.end() && found->second.deleted) board.erase(found);
      }
      std::size_t present = 0;
      for (const auto& [id, signal] : board) {
        if (signal.deleted) continue;
        ++present;
        REQUIRE(world.durable().jobs.contains(id));
        const Job& held = world.durable().jobs.at(id);
        CHECK(held.state == signal.state);
        CHECK(*held.hccl == *signal.hccl);
        CHECK(held.created == signal.created);
        CHECK(held.ended == signal.ended);
      }
      CHECK(present == world.durable().jobs.size());
    }
  }
}

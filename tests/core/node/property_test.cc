// The supervisor's invariants under generated events: random worlds made from seeds, and every
// short sequence of events. ASSAY_SEED=N repeats one world, ASSAY_SEEDS=N runs N worlds,
// ASSAY_DEPTH=N sets the length of the sequences.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <functional>
#include <random>

#include "tests/core/node/node_world.h"
#include "tests/core/node/rig.h"

using namespace assay::core;
using namespace assay::core::node;

namespace {

std::uint64_t FromEnvironment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

using Play = std::function<void(CheckedBench*, Ms* now)>;

Play Do(NodeEvent event) {
  return [event](CheckedBench* supervisor, Ms* now) { supervisor->Step(event, *now); };
}
Play Say(CoordinatorMessage message) { return Do(CoordinatorSaid{std::move(message)}); }

constexpr WorkerKey kWorker{1, 0};
// The worker of another rank of the same run. It has no faults, so that a rank waiting at the
// barrier has a peer.
constexpr WorkerKey kPeer{1, 1};

std::vector<Play> Alphabet(const Assign& assign) {
  std::vector<Play> plays = {Do(LinkUp{}),
                             Do(LinkDown{}),
                             Do(StopAsked{10'000}),
                             Do(StopForced{}),
                             Say(assign),
                             Say(Start{1}),
                             Say(Cancel{1}),
                             Say(Discard{1}),
                             Say(Ack{{{1, 0, Op::kAic}, {1, 0, Op::kP2p}, {1, 1, Op::kP2p}}}),
                             Do(WorkerOpened{kWorker}),
                             Do(WorkerFailed{kWorker, "no chip"}),
                             Do(WorkerP2pPrepared{kWorker, "blob", ""}),
                             Do(WorkerP2pPrepared{kWorker, "", "no link"}),
                             Do(WorkerOpDone{kWorker, Op::kAic, OutcomeCode::kOk, ""}),
                             Do(WorkerOpDone{kWorker, Op::kAic, OutcomeCode::kFaulty, "bad"}),
                             Do(WorkerOpDone{kWorker, Op::kP2p, OutcomeCode::kNotRun, "busy"}),
                             Do(WorkerGone{kWorker, "signal 11"}),
                             Do(DeviceSafe{kWorker, false, ""}),
                             Do(DeviceSafe{kWorker, true, "0.8 V"})};
  plays.push_back([](CheckedBench* supervisor, Ms* now) {
    const Ms due = supervisor->supervisor().NextDeadline(*now);
    supervisor->CheckDeadline(*now, due - 1);
    *now = due;
    supervisor->Step(NodeTicked{}, *now);
  });
  plays.push_back([](CheckedBench* supervisor, Ms* now) {
    supervisor->Restart(*now);
    supervisor->Step(NodeTicked{}, *now);
  });
  return plays;
}

// From any state: every process exits and the coordinator discards the run.
void Finish(CheckedBench* supervisor, Ms* now) {
  supervisor->Step(LinkUp{}, *now);
  supervisor->Step(CoordinatorSaid{Discard{1}}, *now);
  for (int round = 0; round < 3; ++round) {
    for (const WorkerKey& key : supervisor->checker().alive())
      supervisor->Step(WorkerGone{key, "x"}, *now);
    for (const WorkerKey& key : supervisor->checker().safing())
      supervisor->Step(DeviceSafe{key, false, ""}, *now);
  }
}

// Plays every sequence of `depth` events after `before`. Returns the number of sequences played;
// stops at the first one that breaks an invariant.
int PlayAll(const std::vector<Play>& before, const std::vector<Play>& alphabet, int depth) {
  int count = 0;
  std::vector<std::size_t> chosen(static_cast<std::size_t>(depth), 0);
  while (true) {
    CheckedBench supervisor(2);
    Ms now = 1'000'000;
    for (const Play& play : before) play(&supervisor, &now);
    for (const std::size_t one : chosen) alphabet[one](&supervisor, &now);
    Finish(&supervisor, &now);
    ++count;
    if (!supervisor.problem().empty() || !supervisor.supervisor().spooled().empty() ||
        !supervisor.supervisor().idle()) {
      std::string events;
      for (const std::size_t one : chosen) events += std::to_string(one) + " ";
      INFO("after events " << events);
      CHECK(supervisor.problem() == "");
      CHECK(supervisor.supervisor().spooled().empty());
      CHECK(supervisor.supervisor().idle());
      return count;
    }
    std::size_t place = 0;
    while (place < chosen.size() && ++chosen[place] == alphabet.size()) chosen[place++] = 0;
    if (place == chosen.size()) return count;
  }
}

}  // namespace

TEST_CASE("the supervisor keeps its invariants in random worlds") {
  const std::uint64_t one = FromEnvironment("ASSAY_SEED", 0);
  const std::uint64_t first = one != 0 ? one : std::random_device()();
  const std::uint64_t seeds = one != 0 ? 1 : FromEnvironment("ASSAY_SEEDS", 1'000);
  std::uint64_t steps = 0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    NodeWorld world(seed);
    const std::string problem = world.Run();
    steps += world.steps();
    INFO("ASSAY_SEED=" << seed << " repeats it");
    REQUIRE(problem == "");
  }
  CHECK(steps > seeds);
}

TEST_CASE("the supervisor keeps its invariants in every short sequence of events") {
  const Assign alone = TestAssign(1, {{0, 0, Both()}});
  const Assign pair = TestAssign(1, {{0, 0, Both()}, {1, 1, P2p()}});
  const Play aic_ok = Do(WorkerOpDone{kWorker, Op::kAic, OutcomeCode::kOk, ""});
  const std::vector<Play> one = {Do(LinkUp{}), Say(alone)};
  const std::vector<Play> two = {Do(LinkUp{}), Say(pair), Do(WorkerOpened{kPeer})};
  const std::vector<Play> opened = {Do(WorkerOpened{kWorker})};
  const std::vector<Play> running = {opened[0], Say(Start{1})};
  const std::vector<Play> peer_ready = {opened[0], Say(Start{1}), aic_ok,
                                        Do(WorkerP2pPrepared{kPeer, "peer", ""})};
  const auto after = [](std::vector<Play> first, const std::vector<Play>& then) {
    first.insert(first.end(), then.begin(), then.end());
    return first;
  };
  const int depth = static_cast<int>(FromEnvironment("ASSAY_DEPTH", 3));
  int count = PlayAll({}, Alphabet(alone), depth + 1);
  for (const std::vector<Play>& start : {one, after(one, opened), after(one, running)}) {
    count += PlayAll(start, Alphabet(alone), depth);
  }
  for (const std::vector<Play>& start : {two, after(two, running), after(two, peer_ready)}) {
    count += PlayAll(start, Alphabet(pair), depth);
  }
  CHECK(count > 200'000);
}

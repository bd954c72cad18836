// Faults found by the simulation: restarts, late ticks and messages that overtake each other.
#include <catch2/catch.hpp>

#include "core/cluster/cluster.h"
#include "tests/support/cluster_world.h"

using namespace assay::base;
using namespace assay::core;
using namespace assay::support;
using Catch::Matchers::Contains;

namespace {

struct OneNode : World {
  OneNode() {
    link = Attach("a");
    Apply("j", MakeTable({{"a", {0, 1}}}));
  }
  RunId Started() {
    const RunId run = Stress("j").run;
    Say(link, Ready{run});
    REQUIRE(RunOf(run).state == RunState::kTesting);
    return run;
  }
  LinkId link = 0;
};

}  // namespace

TEST_CASE("a late hello of an older link changes nothing") {
  OneNode world;
  const LinkId older = world.NextId();
  const LinkId newer = world.Attach("a");
  const RunId run = world.Stress("j").run;
  const Hello late = world.HelloOf("a");  // sent before the run: lists no runs
  const auto refused = [&] {
    world.Say(older, late);
    CHECK(world.Sent<Welcome>().empty());
    REQUIRE(world.Last<EndLink>().size() == 1);
    CHECK(world.Last<EndLink>()[0].link == older);
    CHECK(world.Last<EndLink>()[0].status.code() == Code::kReplaced);
    CHECK(world.durable().leases.size() == 2);
  };
  world.Say(newer, Ready{run});
  refused();
  CHECK(world.durable().nodes.at("a").attached);
  world.Answered(newer, run, 0, Op::kAic);
  CHECK(world.RunOf(run).ranks[0].answered.Has(Op::kAic));

  // The same if the newer link has closed by then.
  world.Step(LinkClosed{newer});
  refused();
  CHECK_FALSE(world.durable().nodes.at("a").attached);
  CHECK(world.RunOf(run).open == 3);
  world.Attach("a", "", {{run, true}});
  CHECK(world.durable().nodes.at("a").attached);
}

TEST_CASE("a second hello on a link ends the link") {
  OneNode world;
  world.Say(world.link, world.HelloOf("b"));
  REQUIRE(world.Last<EndLink>().size() == 1);
  CHECK(world.Last<EndLink>()[0].status.code() == Code::kInvalid);
  CHECK(world.durable().nodes.count("b") == 0);
  world.Step(LinkClosed{world.link});
  CHECK_FALSE(world.durable().nodes.at("a").attached);
}

TEST_CASE("the start sets the stored deadline for every rank, also for an answered one") {
  OneNode world;
  const RunId run = world.Stress("j", {0}).run;
  world.Answered(world.link, run, 0, Op::kAic, OutcomeCode::kNotRun, "no device");
  world.Say(world.link, Ready{run});
  const auto starts = [&] {
    for (const Record& record : world.last().records) {
      if (const auto* put = std::get_if<PutStarts>(&record)) return put->deadline;
    }
    return Ms{0};
  }();
  REQUIRE(starts > 0);
  CHECK(world.RunOf(run).ranks[0].deadline == starts);
  CHECK(world.RunOf(run).ranks[1].deadline == starts);
}

TEST_CASE("a lease ends when the agent answers or discards after the deadline") {
  for (const bool restarted : {false, true}) {
    OneNode world;
    const RunId run = world.Started();
    world.Say(world.link, Progress{run, 0, Op::kP2p, true, 0, ""});
    world.Let(world.RunOf(run).ranks[0].deadline - world.now());
    REQUIRE(world.RunOf(run).ranks[0].done());
    REQUIRE(world.durable().leases.size() == 2);
    if (restarted) {
      world.Restart();
      world.link = world.Attach("a", "", {{run, true}});
    }
    SECTION(restarted ? "answered after a restart" : "answered") {
      world.Answered(world.link, run, 0, Op::kAic);
      CHECK(world.durable().leases.size() == 2);
      world.Answered(world.link, run, 0, Op::kP2p);
      CHECK(world.durable().leases.size() == 1);
    }
    SECTION(restarted ? "discarded after a restart" : "discarded") {
      world.Answered(world.link, run, 1, Op::kAic);
      world.Answered(world.link, run, 1, Op::kP2p);
      REQUIRE(world.RunOf(run).state == RunState::kClosed);
      REQUIRE(world.Sent<Discard>().size() == 1);
      world.Say(world.link, Discarded{run});
      CHECK(world.durable().leases.empty());
    }
  }
}

TEST_CASE("an unanswered subscriber-run blocks the job, however late the deadline is noticed") {
  for (const bool restarted : {false, true}) {
    World world;
    world.Apply("j", MakeTable({{"a", {0, 1}}}));
    world.Subscribe("j", Topic::kNotify);
    const RunId run = world.Stress("j", {0}).run;
    world.Pass(world.RunOf(run).deadline - world.now() + 1'000);
    if (restarted) {
      world.Restart();
      world.Pass(world.settings().resume_grace);
    }
    world.Step(Ticked{});
    REQUIRE(world.RunOf(run).state == RunState::kClosed);
    world.Subscribe("j", Topic::kNotify);
    CHECK_THAT(world.Stress("j").text, Contains("ended without the reply"));
  }
}

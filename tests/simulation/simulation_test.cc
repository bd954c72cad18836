// Simulated worlds: new random ones in each run, those that once showed a fault, and worlds with a
// planted fault, which must be found. `tools/simulate --seed N --verbose` repeats a world and
// prints its events.
#include "tests/simulation/simulation.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <iostream>
#include <random>

using namespace assay::simulation;

namespace {

std::uint64_t FromEnvironment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace

TEST_CASE("random worlds keep every rule and come to rest") {
  // ASSAY_SEED=N sets the first seed, ASSAY_SEEDS=N the number of worlds.
  const std::uint64_t first = FromEnvironment("ASSAY_SEED", std::random_device()());
  const std::uint64_t seeds = FromEnvironment("ASSAY_SEEDS", 300);
  std::cout << "simulation: " << seeds << " worlds from seed " << first << std::endl;
  std::size_t outcomes = 0;
  std::uint64_t steps = 0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    Simulation simulation(seed);
    INFO("tools/simulate --seed " << seed << " repeats it");
    REQUIRE(simulation.Run() == "");
    outcomes += simulation.checker().outcomes();
    steps += simulation.world().steps;
  }
  std::cout << "simulation: " << steps << " steps, " << outcomes << " outcomes" << std::endl;
  CHECK(outcomes > 10 * seeds);
}

// Each of these seeds showed a fault with the code of its time.
TEST_CASE("worlds that once showed a fault keep every rule") {
  // 347: a hello of an older link arrived after that of a newer one and freed devices under test.
  // 1203: a stream's open event was stepped after the failed commit that lost its close event.
  for (const std::uint64_t seed : {1U, 347U, 566U, 1203U, 2135U}) {
    INFO("tools/simulate --seed " << seed << " repeats it");
    CHECK(Simulation(seed).Run() == "");
  }
}

// The tick, which looks for silent agents, must come whatever else arrives.
TEST_CASE("an agent that falls silent under steady traffic is lost") {
  int muted = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Simulation simulation(seed);
    simulation.world().faults = Faults{};
    simulation.world().faults.between = 300;
    simulation.world().faults.mute = 1'000;
    simulation.world().settings.agent_timeout = 3'000;
    INFO("seed " << seed);
    CHECK(simulation.Run() == "");
    muted += simulation.links().muted();
  }
  CHECK(muted > 0);
}

TEST_CASE("a seed always gives the same world") {
  const auto story = [](std::uint64_t seed) {
    Simulation simulation(seed);
    std::size_t hash = 0;
    simulation.world().listener = [&hash](const std::string& line) {
      hash = hash * 31 + std::hash<std::string>()(line);
    };
    CHECK(simulation.Run() == "");
    return hash;
  };
  CHECK(story(7) == story(7));
  CHECK(story(7) != story(8));
}

TEST_CASE("a planted fault is found") {
  for (int one = 1; one < kCanaries; ++one) {
    const auto canary = static_cast<Canary>(one);
    INFO(Name(canary));
    bool found = false;
    for (std::uint64_t seed = 1; seed <= 40 && !found; ++seed) {
      found = !Simulation(seed, canary).Run().empty();
    }
    CHECK(found);
  }
}

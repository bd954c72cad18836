// Runs simulated worlds by seed. tools/simulate builds and calls it; its --help lists the flags.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/simulation/simulation.h"

using namespace assay::simulation;

namespace {

int UnknownCanary(const char* name) {
  std::fprintf(stderr, "simulate: unknown canary '%s'; known are", name);
  for (int one = 0; one < kCanaries; ++one) {
    std::fprintf(stderr, " %s", std::string(Name(static_cast<Canary>(one))).c_str());
  }
  std::fprintf(stderr, "\n");
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t seed = 0;
  std::uint64_t seeds = 1;
  std::uint64_t steps = Simulation::kSteps;
  bool verbose = false;
  Canary canary = Canary::kNone;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--verbose") {
      verbose = true;
      continue;
    }
    const char* value = i + 1 < argc ? argv[++i] : "";
    if (flag == "--seed") {
      seed = std::strtoull(value, nullptr, 10);
    } else if (flag == "--seeds") {
      seeds = std::strtoull(value, nullptr, 10);
    } else if (flag == "--steps") {
      steps = std::strtoull(value, nullptr, 10);
    } else if (flag == "--canary") {
      int one = 0;
      while (one < kCanaries && Name(static_cast<Canary>(one)) != value) ++one;
      if (one == kCanaries) return UnknownCanary(value);
      canary = static_cast<Canary>(one);
    } else {
      std::fprintf(stderr, "simulate: unknown argument '%s'; tools/simulate --help lists them\n",
                   argv[i]);
      return 1;
    }
  }
  int failed = 0;
  std::uint64_t total = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t one = seed; one < seed + seeds; ++one) {
    Simulation simulation(one, canary, steps);
    if (verbose) {
      simulation.world().listener = [](const std::string& line) { std::puts(line.c_str()); };
    }
    const std::string problem = simulation.Run();
    total += simulation.world().steps;
    if (!problem.empty()) {
      ++failed;
      std::printf("seed %llu: %s\n", static_cast<unsigned long long>(one), problem.c_str());
    }
    if (verbose) {
      std::printf("%zu runs, %zu outcomes, %llu steps\n", simulation.checker().runs(),
                  simulation.checker().outcomes(),
                  static_cast<unsigned long long>(simulation.world().steps));
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("%llu worlds, %llu steps, %.0f steps/s, %d failed\n",
              static_cast<unsigned long long>(seeds), static_cast<unsigned long long>(total),
              static_cast<double>(total) / took.count(), failed);
  return failed == 0 ? 0 : 2;
}

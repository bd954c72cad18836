#include "tests/simulation/world.h"

#include <algorithm>

namespace assay::simulation {

std::string_view Name(Canary canary) {
  constexpr std::string_view kNames[kCanaries] = {
      "none",          "release_before_commit", "drop_record",    "change_outcome", "lose_lease",
      "never_tick",    "answer_twice",          "notify_twice",   "run_twice",      "spawn_twice",
      "spool_forgets", "forge_outcome",         "swallow_signal", "swallow_delete"};
  return kNames[static_cast<int>(canary)];
}

World::World(std::uint64_t seed, Canary planted) : canary(planted), random_(seed) {
  faults.commit_fails = DrawFault(30);
  faults.coordinator_dies = DrawFault(15);
  faults.agent_dies = DrawFault(15);
  faults.identity_lost = DrawFault(300);
  faults.spool_fails = DrawFault(40);
  faults.cut = DrawFault(30);
  faults.lose = DrawFault(50);
  faults.repeat = DrawFault(200);
  faults.partition = DrawFault(300);
  faults.stop = DrawFault(100);
  faults.hang = DrawFault(100);
  faults.crash = DrawFault(150);
  faults.late = DrawFault(200);
  faults.bad = DrawFault(400);
  faults.voltage = DrawFault(300);
  faults.silent = DrawFault(300);
  faults.strange = DrawFault(300);
  faults.wander = DrawFault(100);
  faults.meddle = DrawFault(300);
  faults.pause = DrawFault(30);
  faults.mute = DrawFault(200);
  faults.coordinator_stops = DrawFault(200);
  faults.delay = Below(3) == 0 ? 5'000 : 200;
  faults.between = 500 + Below(8'000);

  const core::Ms deadlines[] = {2'000, 20'000, 90'000};
  settings.aic_deadline = deadlines[Below(3)];
  settings.p2p_deadline = deadlines[Below(3)];
  settings.start_allowance = Below(2) == 0 ? 60'000 : 8'000;
  settings.kill_grace = Below(2) == 0 ? 30'000 : 2'000;
  settings.agent_timeout = Below(2) == 0 ? 30'000 : 3'000;
  settings.reply_quiet = Below(2) == 0 ? 12'000 : 500;
  settings.owing = Below(2) == 0 ? 1'200'000 : 30'000;
  settings.reply_allowance = 10'000;
  settings.client_kept = Below(2) == 0 ? 600'000 : 5'000;
  settings.deleted_kept = Below(2) == 0 ? 3'600'000 : 60'000;
  settings.result_replay = Below(2) == 0 ? 86'400'000 : 60'000;
}

std::int64_t World::Below(std::int64_t bound) {
  return bound <= 1 ? 0 : static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(bound));
}

bool World::Next() {
  if (agenda_.empty()) return false;
  now_ = std::max(now_, agenda_.begin()->first);
  const std::function<void()> what = std::move(agenda_.begin()->second);
  agenda_.erase(agenda_.begin());
  what();
  return true;
}

}  // namespace assay::simulation

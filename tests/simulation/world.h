// What all parts of a simulated world share: its seed, its clock, what goes wrong in it and how
// often, and the first thing that was found to be wrong.
//
// One 64-bit number gives everything. Each world draws its own faults (a kind is absent from half
// of them), so that some worlds have none of a kind and others many. Thread safety: none.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "core/settings.h"

namespace assay::simulation {

// Faults that are planted on purpose, to show that each would be found.
enum class Canary : std::uint8_t {
  kNone,
  kReleaseBeforeCommit,  // the coordinator's effects leave although the commit failed
  kDropRecord,           // the coordinator's store swallows a record now and then
  kChangeOutcome,        // a stored outcome is another one after a restart
  kLoseLease,            // a lease is gone after a restart
  kNeverTick,            // the coordinator's clock stands still
  kAnswerTwice,          // a unary call gets its answer twice
  kNotifyTwice,          // subscribers are notified again
  kRunTwice,             // a worker is told its op twice
  kSpawnTwice,           // a second worker on the device
  kSpoolForgets,         // the agent's spool swallows what has begun
  kForgeOutcome,         // an agent reports other outcomes than it recorded
  kSwallowSignal,        // subscribers of job signals are not told of a change now and then
  kSwallowDelete,        // ... of deletions
};
inline constexpr int kCanaries = 14;
std::string_view Name(Canary canary);

// Permille of the occasions, unless it says otherwise.
struct Faults {
  int commit_fails = 0;
  int coordinator_dies = 0;
  int agent_dies = 0;
  int identity_lost = 0;  // of an agent's deaths: its state folder is gone
  int spool_fails = 0;
  int cut = 0;        // of messages: their link breaks
  int lose = 0;       // of messages: this one alone
  int repeat = 0;     // of messages and replies
  int partition = 0;  // of an agent's minutes
  int stop = 0;       // of an agent's minutes: SIGTERM
  int hang = 0;
  int crash = 0;
  int late = 0;
  int bad = 0;         // other outcomes than ok
  int voltage = 0;     // of devices made safe: it stays changed
  int silent = 0;      // of subscribers' tests: no reply, or not a whole one
  int strange = 0;     // of requests: senseless ones
  int wander = 0;      // of clients' streams: they go away
  int pause = 0;       // of followers' looks: they do not read for a while
  int meddle = 0;      // cancels, deletes, changes
  Ms delay = 100;      // of a message, at most (mostly far less)
  Ms between = 2'000;  // requests of platforms
};

class World {
 public:
  World(std::uint64_t seed, Canary planted);

  // --- Chance: the same numbers from every standard library.
  std::int64_t Below(std::int64_t bound);
  bool Chance(int permille) { return permille > 0 && Below(1000) < permille; }
  // Mostly short, sometimes close to `most`.
  Ms Delay(Ms most) { return Chance(700) ? Below(most / 20 + 1) : Below(most + 1); }
  std::uint64_t NextId() { return ++ids_; }

  // --- Time
  Ms now() const { return now_; }
  void At(Ms delay, std::function<void()> what) {
    agenda_.emplace(now_ + (delay < 0 ? 0 : delay), std::move(what));
  }
  // Does what comes next; false: nothing will ever happen.
  bool Next();

  // --- Judgement
  void Fail(const std::string& text) {
    if (problem_.empty()) problem_ = "at " + std::to_string(now_) + ": " + text;
  }
  void Require(bool good, const char* text) {
    if (!good) Fail(text);
  }
  const std::string& problem() const { return problem_; }

  // --- Trace: `text` is made only if somebody listens.
  std::function<void(const std::string&)> listener;
  template <class Text>
  void Trace(const char* who, Text text) {
    if (listener) listener(std::to_string(now_) + " " + who + " " + text());
  }

  Faults faults;
  Settings settings;
  const Canary canary;
  bool healed = false;
  std::uint64_t steps = 0;

 private:
  int DrawFault(std::int64_t most) { return Below(2) == 0 ? 0 : static_cast<int>(Below(most + 1)); }

  std::mt19937_64 random_;
  Ms now_ = 1'000'000;
  std::multimap<Ms, std::function<void()>> agenda_;  // of one time: in the order of asking
  std::uint64_t ids_ = 0;
  std::string problem_;
};

}  // namespace assay::simulation

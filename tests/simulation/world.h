// The state that all parts of a simulated world share: seed, clock, fault rates, and the first
// violation found.
//
// One 64-bit seed determines everything. Each world draws its own fault rates; each kind of fault
// is absent from half of the worlds. Thread safety: none.
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

// Faults planted on purpose, to prove that the checks find them.
enum class Canary : std::uint8_t {
  kNone,
  kReleaseBeforeCommit,  // effects leave the coordinator although the commit failed
  kDropRecord,           // the coordinator's store sometimes drops a record
  kChangeOutcome,        // stored outcomes change at a restart of the coordinator
  kLoseLease,            // all leases are lost at a restart of the coordinator
  kNeverTick,            // the coordinator only wakes up for what arrives
  kAnswerTwice,          // a unary call gets its answer twice
  kNotifyTwice,          // subscribers are notified twice
  kRunTwice,             // a worker gets its op twice
  kSpawnTwice,           // a second worker on the device
  kSpoolForgets,         // the agent's spool drops SpoolBegun records
  kForgeOutcome,         // an agent reports other outcomes than it recorded
  kSwallowSignal,        // streams of job signals sometimes lose a signal
  kSwallowDelete,        // streams of job signals lose the deletions
};
inline constexpr int kCanaries = 14;
std::string_view Name(Canary canary);

// Rates in permille of the occasions, except `delay` and `between`, which are in ms.
struct Faults {
  int commit_fails = 0;
  int coordinator_dies = 0;
  int agent_dies = 0;
  int identity_lost = 0;  // of an agent's deaths: its state folder is lost
  int spool_fails = 0;
  int cut = 0;                // of messages: the link breaks
  int lose = 0;               // of messages: only this message is lost
  int repeat = 0;             // of messages and replies
  int partition = 0;          // of an agent's minutes
  int stop = 0;               // of an agent's minutes: SIGTERM
  int mute = 0;               // of an agent's minutes: its link falls silent and does not break
  int coordinator_stops = 0;  // of the minutes: SIGTERM
  int hang = 0;
  int crash = 0;
  int late = 0;
  int bad = 0;               // of outcomes: any code instead of ok
  int voltage = 0;           // of devices made safe: the voltage is still changed
  int silent = 0;            // of subscribers' tests: no reply, or an incomplete one
  int strange = 0;           // of requests: invalid
  int wander = 0;            // of clients' streams: the client disconnects
  int pause = 0;             // of followers' actions: the follower does not read for a while
  int meddle = 0;            // of requests: cancels, deletes, changes
  core::Ms delay = 100;      // longest delay of a message; most are far shorter
  core::Ms between = 2'000;  // longest time between two requests of platforms
};

class World {
 public:
  World(std::uint64_t seed, Canary planted);

  // --- Random numbers: the same with every standard library.
  std::int64_t Below(std::int64_t bound);
  bool Chance(int permille) { return permille > 0 && Below(1000) < permille; }
  // A random delay, mostly short, sometimes close to `most`.
  core::Ms Delay(core::Ms most) { return Chance(700) ? Below(most / 20 + 1) : Below(most + 1); }
  std::uint64_t NextId() { return ++ids_; }

  // --- Time
  core::Ms now() const { return now_; }
  void At(core::Ms delay, std::function<void()> what) {
    agenda_.emplace(now_ + (delay < 0 ? 0 : delay), std::move(what));
  }
  // Runs the next scheduled action; false if there is none.
  bool Next();

  // --- Violations: only the first one is kept.
  void Fail(const std::string& text) {
    if (problem_.empty()) problem_ = "at " + std::to_string(now_) + ": " + text;
  }
  void Require(bool good, const char* text) {
    if (!good) Fail(text);
  }
  const std::string& problem() const { return problem_; }

  // --- Trace: `text` is called only if there is a listener.
  std::function<void(const std::string&)> listener;
  template <class Text>
  void Trace(const char* who, Text text) {
    if (listener) listener(std::to_string(now_) + " " + who + " " + text());
  }

  Faults faults;
  core::Settings settings;
  const Canary canary;
  bool healed = false;
  std::uint64_t steps = 0;

 private:
  int DrawFault(std::int64_t most) { return Below(2) == 0 ? 0 : static_cast<int>(Below(most + 1)); }

  std::mt19937_64 random_;
  core::Ms now_ = 1'000'000;
  std::multimap<core::Ms, std::function<void()>>
      agenda_;  // actions of the same time in order of At()
  std::uint64_t ids_ = 0;
  std::string problem_;
};

}  // namespace assay::simulation

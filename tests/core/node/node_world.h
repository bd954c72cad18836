// A small random world around one supervisor, made from a seed: workers that open, answer, answer
// late, hang, crash or do not quit; a coordinator that assigns, starts, cancels, discards and
// acknowledges; a link that breaks, delays and repeats; an agent that dies at any step and is
// started again.
//
// At first any fault may happen. Then the world heals (the agent does not die and no message is
// lost any more) and every run must end. Each seed draws its own fault rates, so that some worlds
// have no fault of a kind and others have many.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>

#include "tests/core/node/node_checker.h"

namespace assay::core::node {

class NodeWorld {
 public:
  explicit NodeWorld(std::uint64_t seed);

  // Returns what went wrong; empty if nothing did.
  std::string Run();
  std::uint64_t steps() const { return steps_; }

 private:
  static constexpr std::int32_t kDevices = 4;

  // The coordinator's view of a run.
  struct KnownRun {
    Assign assign;
    bool started = false;
    bool cancelled = false;
    bool discarded = false;  // the coordinator sends Discard
    bool gone = false;       // the agent has confirmed the Discard
    std::map<OutcomeKey, OutcomeReport> got;
    bool over() const;
  };

  std::int64_t Random(std::int64_t below);
  bool Chance(int permille) { return Random(1000) < permille; }
  // A random delay, mostly short, sometimes close to `most`.
  Ms Delay(Ms most);
  void At(Ms delay, std::function<void()> what) { agenda_.emplace(now_ + delay, std::move(what)); }
  void Fail(const std::string& text) {
    if (problem_.empty()) problem_ = text;
  }

  // The agent
  void Step(const NodeEvent& event);
  void Restart();
  void ConnectLater();
  void Heal();
  bool Quiet() const;
  std::string WhyNotQuiet() const;

  // Its workers
  void Perform(const NodeEffect& effect);
  void Perform(const SendToCoordinator& effect);
  void Perform(const SpawnWorker& effect);
  void Perform(const RunAic& effect);
  void Perform(const PrepareP2p& effect);
  void Perform(const RunP2p& effect);
  void Perform(const QuitWorker& effect);
  void Perform(const KillWorker& effect);
  void Perform(const MakeSafe& effect);
  void WorkerSays(const WorkerKey& key, Ms delay, NodeEvent event);
  void WorkerDies(const WorkerKey& key, Ms delay, std::string how);
  void RunOp(const WorkerKey& key, Op op);

  // The coordinator
  void Hear(const Hello& message);
  void Hear(const Ready& message);
  void Hear(const Progress&) {}
  void Hear(const Outcomes& message);
  void Hear(const Discarded& message);
  void Say(const CoordinatorMessage& message);
  void NewRun();
  void Push(KnownRun* run);  // sends what the run still needs
  void Meddle();

  std::mt19937_64 random_;
  Ms now_ = 1'000'000;
  std::multimap<Ms, std::function<void()>> agenda_;
  CheckedBench supervisor_;
  std::map<RunId, KnownRun> runs_;
  RunId next_run_ = 1;
  int life_ = 0;  // number of restarts of the agent
  int link_ = 0;  // number of the present link; 0 if there is none
  int links_ = 0;
  bool attached_ = false;  // the coordinator has received this link's Hello
  Ms heard_until_ = 0;     // arrival of the agent's latest message; later ones do not overtake it
  bool stopping_ = false;
  bool healed_ = false;
  std::uint64_t steps_ = 0;
  std::string problem_;

  // Faults, in permille.
  int hang_ = 0;
  int crash_ = 0;
  int late_ = 0;
  int cut_ = 0;
  int lose_ = 0;
  int repeat_ = 0;
  int die_ = 0;
  int meddle_ = 0;
};

}  // namespace assay::core::node

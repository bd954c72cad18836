// A supervisor for unit tests: steps it by hand and shows its records and effects as lines of text.
//
//   spool run 1              records, in order, before the effects they must precede
//   spawn 1/0 on 3           run 1, rank 0, device 3
//   outcome 1/0/aic ok: 50 GFLOP/s
#pragma once

#include <string>
#include <vector>

#include "core/node/supervisor.h"

namespace assay::core::node {

using Lines = std::vector<std::string>;

Lines Show(const SpoolRecord& record);
Lines Show(const NodeEffect& effect);
// "1/0/aic ok: text, started 5 ago, finished 1 ago"; without the ages unless `ages`.
std::string Show(const OutcomeReport& report, bool ages);

Node TestNode(std::int32_t devices);
OpSet Ops(std::initializer_list<Op> ops);
inline OpSet Aic() { return Ops({Op::kAic}); }
inline OpSet P2p() { return Ops({Op::kP2p}); }
inline OpSet Both() { return Ops({Op::kAic, Op::kP2p}); }

// Deadlines of 300 s for aic and 600 s for p2p, kill_grace of 30 s.
Assign TestAssign(RunId run, std::vector<AssignedRank> ranks);

class Rig {
 public:
  explicit Rig(Spooled spooled = {}, std::int32_t devices = 8);

  // Steps the supervisor and returns its records, then its effects.
  Lines Do(const NodeEvent& event);
  Lines Say(CoordinatorMessage message) { return Do(CoordinatorSaid{std::move(message)}); }
  Lines Tick(Ms later) {
    now += later;
    return Do(NodeTicked{});
  }
  // Restarts the agent from its spool.
  void Restart();

  Lines Opened(RunId run, std::int32_t rank) { return Do(WorkerOpened{{run, rank}}); }
  Lines Done(RunId run, std::int32_t rank, Op op, OutcomeCode code = OutcomeCode::kOk,
             std::string detail = "");
  Lines Gone(RunId run, std::int32_t rank, std::string how = "exit status 0") {
    return Do(WorkerGone{{run, rank}, std::move(how)});
  }
  Lines Safe(RunId run, std::int32_t rank, bool changed = false, std::string detail = "") {
    return Do(DeviceSafe{{run, rank}, changed, std::move(detail)});
  }
  Lines Ack(RunId run, std::int32_t rank, Op op) {
    return Say(assay::core::Ack{{{run, rank, op}}});
  }
  // Sends Assign, opens every worker, sends Start. Returns the lines of the last step.
  Lines Begin(const Assign& assign);

  Ms now = 1'000'000;
  Supervisor supervisor;

 private:
  std::int32_t devices_;
};

}  // namespace assay::core::node

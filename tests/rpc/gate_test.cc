#include "rpc/gate.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

namespace assay::rpc {
namespace {

constexpr std::size_t kSmall = 100;
const std::string kPeer = "ipv4:127.0.0.1:5000";

// A gate whose intake and reader nothing empties.
struct Rig {
  explicit Rig(const control::IntakeLimits& limits = {}) : intake(limits) {}

  base::Result<Pass> Enter(Call call, std::size_t bytes = kSmall) {
    return gate.Enter(call, kPeer, bytes);
  }
  base::Status Refusal(Call call, std::size_t bytes = kSmall) {
    return Enter(call, bytes).status();
  }
  void FillMailbox(std::size_t items) {
    for (std::size_t i = 0; i < items; ++i) intake.PostStreamClosed(intake.NextId());
  }

  control::Intake intake;
  control::TaskThread reader;  // not started
  Gate gate{&intake, &reader};
};

void CheckRefused(const base::Status& status, base::Code code, const std::string& text) {
  CHECK(status.code() == code);
  CHECK(status.text() == text);
}

TEST_CASE("every implemented call enters, is counted while its pass exists, and has a caller") {
  Rig rig;
  for (const CallRow& row : CallRows()) {
    if (!row.implemented) continue;
    INFO(MethodName(row));
    {
      const base::Result<Pass> pass = rig.Enter(row.call);
      REQUIRE(pass.ok());
      CHECK(pass->caller.who == kPeer);
      CHECK(pass->caller.role.empty());
      CHECK(pass->caller.transport == core::Transport::kLoopback);
      CHECK_FALSE(pass->large);
      CHECK(rig.intake.live_count() == 1);
    }
    CHECK(rig.intake.live_count() == 0);
  }
}

TEST_CASE("a pass is moved, and its place is released once") {
  Rig rig;
  Pass kept;
  {
    base::Result<Pass> pass = rig.Enter(Call::kFleetAttach, 0);
    REQUIRE(pass.ok());
    kept = std::move(*pass);
  }
  CHECK(rig.intake.live_count() == 1);
  kept.admission.Release();
  CHECK(rig.intake.live_count() == 0);
}

TEST_CASE("a call that is not implemented is refused by its name and never counted") {
  control::IntakeLimits limits;
  limits.calls_max = 0;
  limits.streams_max = 0;
  Rig rig(limits);
  rig.intake.BeginStop();
  int refused = 0;
  for (const CallRow& row : CallRows()) {
    if (row.implemented) continue;
    CheckRefused(rig.Refusal(row.call), base::Code::kUnsupported,
                 "this version of Assay does not implement Recover/" + std::string(row.method));
    ++refused;
  }
  CHECK(refused == 8);
  CHECK(rig.intake.live_count() == 0);
}

TEST_CASE("a request above its size is refused, one of that size is not") {
  Rig rig;
  const std::pair<Call, std::string> small[] = {
      {Call::kAdminListJobs, "a query"},
      {Call::kRecoverSubscribeStressTestResponse, "a subscription"},
      {Call::kRecoverSubscribeNotifyExecStressTest, "a subscription"},
      {Call::kJobRegister, "a role and an id"},
      {Call::kJobSubscribeJobSummarySignal, "a role and an id"},
      {Call::kJobSubscribeJobSummarySignalList, "a role and an id"}};
  for (const auto& [call, what] : small) {
    CHECK(rig.Enter(call, 65536).ok());
    CheckRefused(rig.Refusal(call, 65537), base::Code::kInvalid,
                 "the request has 65537 bytes; " + what + " may have at most 65536");
  }
  CHECK_FALSE(rig.Enter(Call::kAdminApplyJob, 65536)->large);
  CHECK(rig.Enter(Call::kAdminApplyJob, 65537)->large);
}

TEST_CASE("calls, subscriptions and agents have limits of their own") {
  control::IntakeLimits limits;
  limits.calls_max = 1;
  limits.streams_max = 1;
  limits.links_max = 1;
  Rig rig(limits);
  std::vector<Pass> inside;
  for (const Call call :
       {Call::kRecoverStressTest, Call::kJobSubscribeJobSummarySignal, Call::kFleetAttach}) {
    inside.push_back(rig.Enter(call).value());
  }
  const std::string calls = "too many calls in progress (limit 1); try again";
  CheckRefused(rig.Refusal(Call::kAdminApplyJob), base::Code::kExhausted, calls);
  CheckRefused(rig.Refusal(Call::kAdminListJobs), base::Code::kExhausted, calls);
  CheckRefused(rig.Refusal(Call::kRecoverReplyStressTestResult), base::Code::kExhausted, calls);
  CheckRefused(rig.Refusal(Call::kRecoverSubscribeNotifyExecStressTest), base::Code::kExhausted,
               "too many subscriptions (limit 1 in total); end some first");
  CheckRefused(rig.Refusal(Call::kFleetAttach), base::Code::kExhausted,
               "too many attached agents (limit 1)");
  inside.clear();
  CHECK(rig.Enter(Call::kAdminListJobs).ok());
  CHECK(rig.Enter(Call::kRecoverSubscribeNotifyExecStressTest).ok());
  CHECK(rig.Enter(Call::kFleetAttach).ok());
}

TEST_CASE(
    "while many items wait, commands are refused, but outcomes, queries and streams are not") {
  control::IntakeLimits limits;
  limits.mailbox_max = 3;
  Rig rig(limits);
  rig.FillMailbox(3);
  for (const CallRow& row : CallRows()) {
    if (!row.implemented) continue;
    INFO(MethodName(row));
    if (row.kind == CallKind::kCommand) {
      CheckRefused(rig.Refusal(row.call), base::Code::kExhausted,
                   "the coordinator is overloaded (3 requests are waiting); try again");
    } else {
      CHECK(rig.Enter(row.call).ok());
    }
  }
}

TEST_CASE("the bytes of large requests are limited, with a higher limit for outcomes") {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  control::IntakeLimits limits;
  limits.request_bytes_max = 2 * kMiB;
  limits.outcome_bytes_max = 4 * kMiB;
  Rig rig(limits);
  const Pass command = rig.Enter(Call::kAdminApplyJob, 2 * kMiB).value();
  CheckRefused(
      rig.Refusal(Call::kRecoverStressTest, kMiB), base::Code::kExhausted,
      "the coordinator is overloaded (large requests of 2 MiB are in progress); try again");
  CHECK(rig.Enter(Call::kRecoverStressTest, kLargeBytes).ok());
  const Pass outcomes = rig.Enter(Call::kRecoverReplyStressTestResult, 2 * kMiB).value();
  CheckRefused(
      rig.Refusal(Call::kRecoverReplyStressTestResult, kMiB), base::Code::kExhausted,
      "the coordinator is overloaded (large requests of 4 MiB are in progress); try again");
}

TEST_CASE("queries that wait for the reader are limited; commands do not count there") {
  Rig rig;
  for (std::size_t i = 0; i < kQueriesMax; ++i) {
    CHECK(rig.Enter(Call::kAdminListRuns).ok());
    rig.reader.Post([] {});
  }
  CheckRefused(rig.Refusal(Call::kAdminListRuns), base::Code::kExhausted,
               "too many queries are waiting (limit 1000); try again");
  CHECK(rig.Enter(Call::kAdminStartRun).ok());
}

TEST_CASE("a coordinator that stops refuses every call") {
  Rig rig;
  rig.intake.BeginStop();
  for (const CallRow& row : CallRows()) {
    if (!row.implemented) continue;
    INFO(MethodName(row));
    CheckRefused(rig.Refusal(row.call), base::Code::kUnavailable,
                 "the coordinator is stopping; try again later");
  }
  CHECK(rig.intake.live_count() == 0);
}

TEST_CASE("the transport follows from the peer's address") {
  for (const std::string peer :
       {"ipv4:127.0.0.1:5000", "ipv4:127.8.0.1:1", "ipv6:[::1]:5000", "ipv6:%5B::1%5D:5000",
        "ipv6:[::ffff:127.0.0.1]:5000", "ipv6:%5B::ffff:127.0.0.1%5D:5000", "unix:/run/a"}) {
    INFO(peer);
    CHECK(TransportOf(peer) == core::Transport::kLoopback);
  }
  for (const std::string peer : {"ipv4:10.127.0.1:5000", "ipv4:12.7.0.0:1", "ipv6:[::12]:5000",
                                 "ipv6:%5Bfe80::1%5D:5000", "unknown", ""}) {
    INFO(peer);
    CHECK(TransportOf(peer) == core::Transport::kInsecure);
  }
}

}  // namespace
}  // namespace assay::rpc

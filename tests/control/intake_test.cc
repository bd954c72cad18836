#include "control/intake.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay::control {
namespace {

using Kind = Admission::Kind;
constexpr Intake::AdmissionRequest kAStream = {.kind = Kind::kStream};
constexpr Intake::AdmissionRequest kALink = {.kind = Kind::kLink};

TEST_CASE("calls, streams and links are counted and limited") {
  IntakeLimits limits;
  limits.streams_max = 2;
  Intake intake(limits);
  Admission first = intake.Admit(kAStream).value();
  const Admission second = intake.Admit(kAStream).value();
  CHECK(intake.Admit(kAStream).status().code() == base::Code::kExhausted);
  const Admission link = intake.Admit(kALink).value();
  first.Release();
  const Admission third = intake.Admit(kAStream).value();
  CHECK(intake.live_count() == 3);
}

TEST_CASE("an admission is released once, however often it is moved") {
  static_assert(!std::is_copy_constructible_v<Admission>);
  static_assert(!std::is_copy_assignable_v<Admission>);
  Intake intake{IntakeLimits()};
  {
    Admission first = intake.Admit({}).value();
    CHECK(intake.live_count() == 1);
    Admission second = std::move(first);
    CHECK(intake.live_count() == 1);
    first = intake.Admit(kAStream).value();
    CHECK(intake.live_count() == 2);
    first = std::move(second);  // releases the stream
    CHECK(intake.live_count() == 1);
    Admission* const itself = &first;
    first = std::move(*itself);
    CHECK(intake.live_count() == 1);
    first.Release();
    first.Release();
    CHECK(intake.live_count() == 0);
    second = Admission();
  }
  CHECK(intake.live_count() == 0);
}

TEST_CASE(
    "the bytes of large requests are counted until the release; outcomes have a higher limit") {
  IntakeLimits limits;
  limits.request_bytes_max = std::int64_t{4} << 20;
  limits.outcome_bytes_max = std::int64_t{6} << 20;
  Intake intake(limits);
  constexpr std::size_t kThree = std::size_t{3} << 20;
  Admission held = intake.Admit({.large_bytes = kThree}).value();
  const base::Status refused = intake.Admit({.large_bytes = kThree}).status();
  CHECK(refused.code() == base::Code::kExhausted);
  CHECK(refused.text() ==
        "the coordinator is overloaded (large requests of 4 MiB are in progress); try again");
  CHECK(intake.live_count() == 1);
  const Admission outcomes = intake.Admit({.large_bytes = kThree, .outcomes = true}).value();
  CHECK(intake.Admit({.large_bytes = 1, .outcomes = true}).status().code() ==
        base::Code::kExhausted);
  held.Release();
  CHECK(intake.Admit({.large_bytes = 1}).ok());
}

TEST_CASE("a refusal by count frees the bytes that it held") {
  IntakeLimits limits;
  limits.calls_max = 0;
  limits.request_bytes_max = 100;
  Intake intake(limits);
  for (int i = 0; i < 3; ++i) {
    CHECK(intake.Admit({.large_bytes = 100}).status().text() ==
          "too many calls in progress (limit 0); try again");
  }
  CHECK(intake.live_count() == 0);
}

TEST_CASE("commands are refused while the mailbox is full; others are not") {
  IntakeLimits limits;
  limits.mailbox_max = 2;
  Intake intake(limits);
  CHECK(intake.Admit({.command = true}).ok());
  intake.PostStreamClosed(intake.NextId());
  intake.PostStreamClosed(intake.NextId());
  const base::Status refused = intake.Admit({.command = true}).status();
  CHECK(refused.code() == base::Code::kExhausted);
  CHECK(refused.text() == "the coordinator is overloaded (2 requests are waiting); try again");
  CHECK(intake.Admit({.outcomes = true}).ok());
  CHECK(intake.Admit(kAStream).ok());
}

TEST_CASE("after BeginStop nothing is admitted, and what was admitted before is counted") {
  Intake intake{IntakeLimits()};
  Admission before = intake.Admit(kALink).value();
  intake.BeginStop();
  for (const Kind kind : {Kind::kCall, Kind::kStream, Kind::kLink}) {
    const base::Status refused = intake.Admit({.kind = kind}).status();
    CHECK(refused.code() == base::Code::kUnavailable);
    CHECK(refused.text() == "the coordinator is stopping; try again later");
  }
  CHECK(intake.live_count() == 1);
  before.Release();
  CHECK(intake.live_count() == 0);
}

TEST_CASE("many threads admit and release: the limit holds and the count ends at 0") {
  constexpr int kThreads = 4;
  constexpr int kRounds = 5000;
  IntakeLimits limits;
  limits.streams_max = 2;
  Intake intake(limits);
  std::atomic<int> inside{0};
  std::atomic<bool> above{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) {
        const base::Result<Admission> admission = intake.Admit(kAStream);
        if (!admission.ok()) continue;
        if (inside.fetch_add(1) >= 2) above = true;
        inside.fetch_sub(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_FALSE(above);
  CHECK(intake.live_count() == 0);
}

}  // namespace
}  // namespace assay::control

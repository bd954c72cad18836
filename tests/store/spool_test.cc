#include "store/spool.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <random>
#include <regex>
#include <sstream>

#include "tests/support/durable_text.h"
#include "tests/support/temp_dir.h"

using namespace assay::base;
using namespace assay::core;
using namespace assay::core::node;
using namespace assay::store;
using namespace assay::support;

namespace {

std::unique_ptr<Spool> Open(const std::string& file) {
  Result<std::unique_ptr<Spool>> spool = Spool::Open(file);
  INFO(spool.status().text());
  REQUIRE(spool.ok());
  return std::move(spool).value();
}

std::string Text(const Spooled& spooled) {
  std::ostringstream out;
  for (const auto& [id, run] : spooled) {
    out << "run " << id << ' ' << run.assign.run << " '" << run.assign.job << "' "
        << run.assign.aic_deadline << ' ' << run.assign.p2p_deadline << ' ' << run.assign.kill_grace
        << " started " << run.started << " ranks " << run.assign.ranks.size() << '\n';
    for (const SpooledRank& rank : run.ranks) {
      out << "  rank " << rank.assigned.rank << " device " << rank.assigned.device << " ops "
          << int{rank.assigned.ops.bits()} << " begun " << int{rank.begun.bits()} << " answered "
          << int{rank.answered.bits()} << " acked " << int{rank.acked.bits()};
      for (const Op op : kAllOps) {
        const Outcome& outcome = rank.outcomes[op];
        out << " [" << rank.begun_at[op] << ' ' << Name(outcome.code) << ' ' << outcome.detail
            << ' ' << outcome.started << ' ' << outcome.finished << ']';
      }
      out << '\n';
    }
  }
  return out.str();
}

std::string Stored(Spool& spool) {
  Result<Spooled> spooled = spool.Load();
  INFO(spooled.status().text());
  REQUIRE(spooled.ok());
  return Text(*spooled);
}

class SpoolSource {
 public:
  explicit SpoolSource(std::uint64_t seed) : random_(seed) {}

  SpoolRecord Next() {
    const OutcomeKey key{Number(1, 6), static_cast<std::int32_t>(Number(0, 5)),
                         static_cast<Op>(Number(0, 1))};
    switch (Number(0, 9)) {
      case 0:
      case 1:
        return ARun(key.run);
      case 2:
        return SpoolStarted{key.run};
      case 3:
      case 4:
        return SpoolBegun{key, Number(1, 1'000'000)};
      case 5:
      case 6:
        return SpoolOutcome{key,
                            {static_cast<OutcomeCode>(Number(0, 4)),
                             std::string(static_cast<std::size_t>(Number(0, 40)), 'x') + "'é",
                             Number(0, 99), Number(0, 99)}};
      case 7:
      case 8:
        return SpoolAcked{key};
      default:
        return SpoolDrop{key.run};
    }
  }

 private:
  std::int64_t Number(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  SpoolRecord ARun(RunId run) {
    Assign assign;
    assign.run = run;
    assign.job = "job " + std::to_string(Number(0, 9));
    assign.aic_deadline = Number(0, 999);
    assign.p2p_deadline = Number(0, 999);
    assign.kill_grace = Number(0, 999);
    for (std::int32_t rank = 0; rank < 6; ++rank) {
      if (Number(0, 1) == 0) continue;
      assign.ranks.push_back({rank, static_cast<std::int32_t>(Number(0, 15)),
                              OpSet(static_cast<std::uint8_t>(Number(1, 3)))});
    }
    return SpoolRun{assign};
  }

  std::mt19937_64 random_;
};

}  // namespace

TEST_CASE("the spool loads the state that its records describe, for any records") {
  const std::uint64_t fresh = std::random_device()();
  for (const std::uint64_t seed : {std::uint64_t{1}, std::uint64_t{2}, fresh}) {
    CAPTURE(seed);
    TempDir dir;
    SpoolSource source(seed);
    Spooled expected;
    auto spool = Open(dir / "agent.db");
    for (int round = 0; round < 60; ++round) {
      std::vector<SpoolRecord> batch;
      for (int i = 0; i < 1 + round % 20; ++i) batch.push_back(source.Next());
      REQUIRE(spool->Commit(batch).ok());
      for (const SpoolRecord& record : batch) Apply(record, &expected);
      spool->Idle();
      if (round % 10 == 9) {
        spool.reset();
        spool = Open(dir / "agent.db");
      }
      REQUIRE(FirstDifference(Stored(*spool), Text(expected)) == "");
    }
  }
}

TEST_CASE("an agent's identity is created once and is unique") {
  TempDir dir;
  const auto other = Open(dir / "other.db");
  auto spool = Open(dir / "agent.db");
  const std::string identity = spool->identity();
  CHECK(std::regex_match(
      identity, std::regex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")));
  CHECK(identity != other->identity());
  spool.reset();
  CHECK(Open(dir / "agent.db")->identity() == identity);
}

TEST_CASE("only this user can access the spool, and only one agent at a time") {
  TempDir dir;
  const auto spool = Open(dir / "agent.db");
  for (const char* suffix : {"", "-wal", "-shm"}) {
    struct stat info {};
    REQUIRE(stat((dir / "agent.db" + suffix).c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);
  }
  const Status second = Spool::Open(dir / "agent.db").status();
  CHECK(second.code() == Code::kConflict);
  CHECK_THAT(second.text(), Catch::Contains(dir / "agent.db"));
}

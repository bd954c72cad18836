// kill -9 at any time: acknowledged batches are stored, and no batch is stored in part.
#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <random>

#include "store/queries.h"
#include "store/store.h"
#include "tests/store/record_source.h"
#include "tests/support/child.h"
#include "tests/support/durable_text.h"
#include "tests/support/temp_dir.h"

using namespace assay::base;
using namespace assay::core;
using namespace assay::store;
using namespace assay::support;

namespace {

const std::string kChild = ASSAY_STORE_CHILD;

std::string IntegrityCheck(const std::string& file) {
  Child child({kChild, "read", file, "PRAGMA integrity_check"});
  return child.ReadAll();
}

}  // namespace

TEST_CASE("acknowledged batches survive kill -9, and no batch is stored in part") {
  const std::uint64_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  TempDir dir;
  const std::string file = dir / "assay.db";
  BatchSequence expected(seed);
  int committed = 0;  // number of batches in `expected`
  for (int round = 0; round < 40; ++round) {
    CAPTURE(round, committed);
    int acknowledged = committed;
    {
      Child child({kChild, "commit", file, std::to_string(seed), std::to_string(committed)});
      std::string line;
      for (auto want = random() % 8; want > 0 && child.ReadLine(&line); --want) {
        REQUIRE(line == std::to_string(acknowledged));
        ++acknowledged;
      }
      usleep(static_cast<useconds_t>(random() % 8'000));
      child.Kill(SIGKILL);
      while (child.ReadLine(&line)) {
        REQUIRE(line == std::to_string(acknowledged));
        ++acknowledged;
      }
      REQUIRE(child.Wait() == 128 + SIGKILL);
    }
    if (access(file.c_str(), F_OK) != 0) {  // killed before the file was complete
      REQUIRE(acknowledged == 0);
      continue;
    }
    REQUIRE(IntegrityCheck(file) == "ok\n");
    Result<std::unique_ptr<Store>> store = Store::Open(file);
    INFO(store.status().text());
    REQUIRE(store.ok());
    const Result<Durable> durable = (*store)->Load();
    REQUIRE(durable.ok());
    for (; committed < acknowledged; ++committed) expected.Next();
    if (DurableText(*durable) != DurableText(expected.model().Stored())) {
      expected.Next();  // committed, but killed before the acknowledgement
      ++committed;
    }
    REQUIRE(FirstDifference(DurableText(*durable), DurableText(expected.model().Stored())) == "");
  }
  CHECK(committed > 40);
}

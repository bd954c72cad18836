#include "core/cluster/result_text.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace assay::core;
using namespace assay::core::cluster;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

Run MakeRun(int ranks, Executor executor = Executor::kSubscriber) {
  Run run;
  run.executor = executor;
  run.parts = {{"n-b", "", "", PartState::kStarted}, {"n-a", "", "", PartState::kStarted}};
  for (int i = 0; i < ranks; ++i) {
    RankTest rank;
    rank.rank = i;
    rank.device = i / 2;
    rank.part = static_cast<std::uint32_t>(i % 2);
    rank.ops = rank.answered = OpSet(3);
    rank.outcomes[Op::kAic] = rank.outcomes[Op::kP2p] = {OutcomeCode::kOk, "OK", 0, 0};
    run.ranks.push_back(rank);
  }
  return run;
}

nlohmann::json JsonOf(const std::string& text) {
  return nlohmann::json::parse(text.substr(text.find("result:") + 7));
}

}  // namespace

TEST_CASE("the sentence names the worst outcome") {
  Run run = MakeRun(4);
  CHECK_THAT(ResultText(run), StartsWith("stress test finish, result:{\"n-a\":{\"0\":"));
  run.ranks[1].outcomes[Op::kP2p] = {OutcomeCode::kNotRun, "no", 0, 0};
  CHECK_THAT(ResultText(run), StartsWith("stress test finish, not run on rank:[1],result:{"));
  run.cancelled = true;
  CHECK_THAT(ResultText(run), StartsWith("stress test cancelled,result:{"));
  run.ranks[3].outcomes[Op::kAic] = {OutcomeCode::kVoltageNotRestored, "", 0, 0};
  run.ranks[2].outcomes[Op::kAic] = {OutcomeCode::kTimeout, "", 0, 0};
  CHECK_THAT(ResultText(run), StartsWith("stress test timeout fault, faultRank:[2 3],result:{"));
  run.ranks[1].outcomes[Op::kAic] = {OutcomeCode::kFaulty, "bit", 0, 0};
  run.ranks[2].outcomes[Op::kP2p] = {OutcomeCode::kFaulty, "bit", 0, 0};
  CHECK_THAT(ResultText(run),
             StartsWith("stress test find fault, isolate node:map[n-a:{} n-b:{}],result:{"));
}

TEST_CASE("keys are in text order, empty texts are left out, texts are escaped") {
  Run run = MakeRun(24);
  run.ranks[2].outcomes[Op::kAic] = {OutcomeCode::kOk, "", 0, 0};
  run.ranks[4].outcomes[Op::kAic] = {OutcomeCode::kNotRun, "a \"quoted\" \\ line\nnext\x01", 0, 0};
  const std::string text = ResultText(run);
  CHECK(text.find("\"10\":") < text.find("\"2\":"));
  const nlohmann::json json = JsonOf(text);
  CHECK_FALSE(json["n-b"]["1"]["rankResult"]["0"].contains("result"));
  CHECK(json["n-b"]["2"]["rankResult"]["0"]["result"] == "a \"quoted\" \\ line\nnext\x01");
  CHECK(json["n-a"].size() == 12);
}

TEST_CASE("a large result contains every rank that is not ok and counts the ok ranks left out") {
  Run run = MakeRun(20'000);
  run.ranks[77].outcomes[Op::kP2p] = {OutcomeCode::kFaulty, "bit", 0, 0};
  const std::string text = ResultText(run, 200'000);
  CHECK(text.size() <= 200'000);
  CHECK_THAT(text.substr(0, 200),
             Contains("isolate node:map[n-a:{}], 19999 ok ranks left out,result:{"));
  CHECK(JsonOf(text)["n-a"]["38"]["rankResult"]["1"]["code"] == "2");
}

TEST_CASE("65,536 ranks that all failed still fit") {
  Run run = MakeRun(65'536);
  for (RankTest& rank : run.ranks) {
    rank.outcomes[Op::kAic] =
        rank.outcomes[Op::kP2p] = {OutcomeCode::kTimeout, std::string(500, 'x'), 0, 0};
  }
  const std::string text = ResultText(run);
  CHECK(text.size() <= kResultBytesMax);
  std::size_t ranks = 0;
  for (const auto& node : JsonOf(text)) ranks += node.size();
  CHECK(ranks == 65'536);
}

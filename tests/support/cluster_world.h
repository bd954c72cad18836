// A Cluster with a manual clock, for unit tests: steps it and keeps the output of the last step and
// the effects of all steps.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/cluster/cluster.h"
#include "rank_table/rank_table.h"

namespace assay {

// A rank table from node names and device numbers; ranks are numbered in the order listed.
inline std::shared_ptr<const RankTable> MakeTable(
    const std::vector<std::pair<std::string, std::vector<int>>>& nodes) {
  auto table = std::make_shared<RankTable>();
  for (const auto& [name, devices] : nodes) {
    table->nodes.push_back({name, {}});
    for (const int device : devices) {
      table->ranks.push_back({static_cast<std::int32_t>(table->ranks.size()), device,
                              static_cast<std::uint32_t>(table->nodes.size() - 1)});
    }
  }
  return table;
}

class World {
 public:
  explicit World(Settings settings = {}) : settings_(settings), cluster_(settings, {}, now_) {}

  Output& Step(Event event) {
    out_ = {};
    cluster_.Step(event, now_, &out_);
    for (const Effect& effect : out_.effects) all_.push_back(effect);
    return out_;
  }
  void Pass(Ms ms) { now_ += ms; }
  // Advances the clock by `ms` and ticks at each NextDeadline and at the end.
  void Let(Ms ms) {
    const Ms end = now_ + ms;
    while (true) {
      const Ms next = std::max(now_ + 1, cluster_.NextDeadline(now_));
      if (next > end) break;
      now_ = next;
      Step(Ticked{});
    }
    now_ = end;
    Step(Ticked{});
  }
  void Restart() {
    Durable durable = cluster_.durable();
    cluster_ = Cluster(settings_, std::move(durable), now_);
  }

  Answer Apply(const std::string& id, std::shared_ptr<const RankTable> table) {
    JobApplied applied;
    applied.call = NextId();
    applied.spec.id = id;
    applied.table_text = "table of " + id + std::to_string(table->ranks.size());
    applied.table = std::move(table);
    applied.hccl = std::make_shared<const std::string>("hccl of " + applied.table_text);
    return AnswerOf(Step(applied));
  }
  Answer Stress(const std::string& job, std::vector<std::int64_t> ops = {0, 1},
                ExecutorDemand demand = ExecutorDemand::kAuto) {
    StressRequested asked;
    asked.call = NextId();
    asked.job = job;
    asked.all_ops = std::move(ops);
    asked.demand = demand;
    return AnswerOf(Step(asked));
  }
  Answer Reply(const std::string& job, std::vector<ReplyItem> items) {
    return AnswerOf(Step(Replied{NextId(), {}, job, std::move(items)}));
  }
  StreamId Subscribe(const std::string& job, Topic topic) {
    const StreamId id = NextId();
    Step(StreamOpened{id, topic, {}, job, "", ""});
    return id;
  }
  Hello HelloOf(const std::string& name, const std::string& identity = "") {
    Hello hello;
    hello.node.name = name;
    hello.node.identity = identity.empty() ? "id-" + name : identity;
    hello.node.host_name = "host-" + name;
    hello.node.fqdn = "host-" + name + ".example";
    for (int i = 0; i < 8; ++i) hello.node.devices.push_back({i, "sim", ""});
    return hello;
  }
  LinkId Attach(const std::string& name, const std::string& identity = "",
                std::vector<HeldRun> held = {}) {
    Hello hello = HelloOf(name, identity);
    hello.held = std::move(held);
    const LinkId link = NextId();
    Step(LinkSaid{link, std::move(hello)});
    return link;
  }
  void Say(LinkId link, AgentMessage message) { Step(LinkSaid{link, std::move(message)}); }
  void Answered(LinkId link, RunId run, int rank, Op op, OutcomeCode code = OutcomeCode::kOk,
                const std::string& detail = "") {
    Say(link, Outcomes{{{run, rank, op, code, detail, 1000, 0}}});
  }

  const Output& last() const { return out_; }
  template <class T>
  std::vector<T> Last() const {
    return Of<T>(out_.effects);
  }
  template <class T>
  std::vector<T> Ever() const {
    return Of<T>(all_);
  }
  // The messages of type T sent to agents in the last step.
  template <class T>
  std::vector<std::pair<LinkId, T>> Sent() const {
    std::vector<std::pair<LinkId, T>> sent;
    for (const ToAgent& to : Last<ToAgent>()) {
      if (const T* message = std::get_if<T>(&to.message)) sent.emplace_back(to.link, *message);
    }
    return sent;
  }
  const Run& RunOf(RunId id) const { return cluster_.durable().runs.at(id); }
  const Durable& durable() const { return cluster_.durable(); }
  Cluster& cluster() { return cluster_; }
  Ms now() const { return now_; }
  std::uint64_t NextId() { return ++ids_; }
  const Settings& settings() const { return settings_; }

 private:
  template <class T>
  static std::vector<T> Of(const std::vector<Effect>& effects) {
    std::vector<T> found;
    for (const Effect& effect : effects) {
      if (const T* one = std::get_if<T>(&effect)) found.push_back(*one);
    }
    return found;
  }
  static Answer AnswerOf(const Output& out) {
    const std::vector<Answer> answers = Of<Answer>(out.effects);
    REQUIRE(answers.size() == 1);
    return answers[0];
  }

  Settings settings_;
  Ms now_ = 1'000'000;
  Cluster cluster_;
  Output out_;
  std::vector<Effect> all_;
  std::uint64_t ids_ = 0;
};

}  // namespace assay

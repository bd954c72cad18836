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

namespace assay::support {

// A rank table from node names and device numbers; ranks are numbered in the order listed.
inline std::shared_ptr<const rank_table::RankTable> MakeTable(
    const std::vector<std::pair<std::string, std::vector<int>>>& nodes) {
  auto table = std::make_shared<rank_table::RankTable>();
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
  explicit World(core::Settings settings = {})
      : settings_(settings), cluster_(settings, {}, now_) {}

  core::Output& Step(core::Event event) {
    out_ = {};
    cluster_.Step(event, now_, &out_);
    for (const core::Effect& effect : out_.effects) all_.push_back(effect);
    return out_;
  }
  void Pass(core::Ms ms) { now_ += ms; }
  // Advances the clock by `ms` and ticks at each NextDeadline and at the end.
  void Let(core::Ms ms) {
    const core::Ms end = now_ + ms;
    while (true) {
      const core::Ms next = std::max(now_ + 1, cluster_.NextDeadline(now_));
      if (next > end) break;
      now_ = next;
      Step(core::Ticked{});
    }
    now_ = end;
    Step(core::Ticked{});
  }
  void Restart() {
    core::Durable durable = cluster_.durable();
    cluster_ = core::cluster::Cluster(settings_, std::move(durable), now_);
  }

  core::Answer Apply(const std::string& id, std::shared_ptr<const rank_table::RankTable> table) {
    core::JobApplied applied;
    applied.call = NextId();
    applied.spec.id = id;
    applied.table_text = "table of " + id + std::to_string(table->ranks.size());
    applied.table = std::move(table);
    applied.hccl = std::make_shared<const std::string>("hccl of " + applied.table_text);
    return AnswerOf(Step(applied));
  }
  core::Answer Stress(const std::string& job, std::vector<std::int64_t> ops = {0, 1},
                      core::ExecutorDemand demand = core::ExecutorDemand::kAuto) {
    core::StressRequested asked;
    asked.call = NextId();
    asked.job = job;
    asked.all_ops = std::move(ops);
    asked.demand = demand;
    return AnswerOf(Step(asked));
  }
  core::Answer Reply(const std::string& job, std::vector<core::ReplyItem> items) {
    return AnswerOf(Step(core::Replied{NextId(), {}, job, std::move(items)}));
  }
  core::StreamId Subscribe(const std::string& job, core::Topic topic) {
    const core::StreamId id = NextId();
    Step(core::StreamOpened{id, topic, {}, job, "", ""});
    return id;
  }
  core::Hello HelloOf(const std::string& name, const std::string& identity = "") {
    core::Hello hello;
    hello.node.name = name;
    hello.node.identity = identity.empty() ? "id-" + name : identity;
    hello.node.host_name = "host-" + name;
    hello.node.fqdn = "host-" + name + ".example";
    for (int i = 0; i < 8; ++i) hello.node.devices.push_back({i, "sim", ""});
    return hello;
  }
  core::LinkId Attach(const std::string& name, const std::string& identity = "",
                      std::vector<core::HeldRun> held = {}) {
    core::Hello hello = HelloOf(name, identity);
    hello.held = std::move(held);
    const core::LinkId link = NextId();
    Step(core::LinkMessage{link, std::move(hello)});
    return link;
  }
  void Say(core::LinkId link, core::AgentMessage message) {
    Step(core::LinkMessage{link, std::move(message)});
  }
  void Answered(core::LinkId link, core::RunId run, int rank, core::Op op,
                core::OutcomeCode code = core::OutcomeCode::kOk, const std::string& detail = "") {
    Say(link, core::Outcomes{{{run, rank, op, code, detail, 1000, 0}}});
  }

  const core::Output& last() const { return out_; }
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
  std::vector<std::pair<core::LinkId, T>> Sent() const {
    std::vector<std::pair<core::LinkId, T>> sent;
    for (const core::ToAgent& to : Last<core::ToAgent>()) {
      if (const T* message = std::get_if<T>(&to.message)) sent.emplace_back(to.link, *message);
    }
    return sent;
  }
  const core::Run& RunOf(core::RunId id) const { return cluster_.durable().runs.at(id); }
  const core::Durable& durable() const { return cluster_.durable(); }
  core::cluster::Cluster& cluster() { return cluster_; }
  core::Ms now() const { return now_; }
  std::uint64_t NextId() { return ++ids_; }
  const core::Settings& settings() const { return settings_; }

 private:
  template <class T>
  static std::vector<T> Of(const std::vector<core::Effect>& effects) {
    std::vector<T> found;
    for (const core::Effect& effect : effects) {
      if (const T* one = std::get_if<T>(&effect)) found.push_back(*one);
    }
    return found;
  }
  static core::Answer AnswerOf(const core::Output& out) {
    const std::vector<core::Answer> answers = Of<core::Answer>(out.effects);
    REQUIRE(answers.size() == 1);
    return answers[0];
  }

  core::Settings settings_;
  core::Ms now_ = 1'000'000;
  core::cluster::Cluster cluster_;
  core::Output out_;
  std::vector<core::Effect> all_;
  std::uint64_t ids_ = 0;
};

}  // namespace assay::support

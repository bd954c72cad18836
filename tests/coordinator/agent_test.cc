// An agent's stream, driven by hand-written messages.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>

#include "tests/coordinator/harness.h"

namespace assay::coordinator {
namespace {

class Agent {
 public:
  Agent(Client* client, const std::string& node) : stream_(client->fleet->Attach(context_.get())) {
    fleet::AgentMessage message;
    fleet::Hello& hello = *message.mutable_hello();
    hello.set_protocol(1);
    hello.set_node(node);
    hello.set_identity("identity-of-" + node);
    hello.set_version("1");
    hello.set_host_name(node);
    hello.set_driver("sim");
    for (int i = 0; i < 2; ++i) {
      fleet::Device& device = *hello.add_devices();
      device.set_index(i);
      device.set_kind("sim");
    }
    REQUIRE(stream_->Write(message));
    REQUIRE(Next().has_welcome());
  }
  ~Agent() {
    context_->TryCancel();
    (void)Finish();
  }

  fleet::CoordinatorMessage Next() {
    fleet::CoordinatorMessage message;
    REQUIRE(stream_->Read(&message));
    return message;
  }
  bool Say(const fleet::AgentMessage& message) { return stream_->Write(message); }
  void Cancel() { context_->TryCancel(); }
  grpc::Status Finish() {
    if (std::exchange(finished_, true)) return grpc::Status::OK;
    fleet::CoordinatorMessage message;
    while (stream_->Read(&message)) {
    }
    return stream_->Finish();
  }

 private:
  std::unique_ptr<grpc::ClientContext> context_ = Client::Context();
  std::unique_ptr<grpc::ClientReaderWriter<fleet::AgentMessage, fleet::CoordinatorMessage>> stream_;
  bool finished_ = false;
};

std::string StateOf(Client* client, const std::string& node) {
  admin::ListNodesResponse nodes;
  REQUIRE(
      client->admin->ListNodes(Client::Context().get(), admin::ListNodesRequest(), &nodes).ok());
  for (const admin::Node& one : nodes.nodes()) {
    if (one.name() == node) return one.state();
  }
  return "unknown";
}

TEST_CASE("an agent attaches, tests its devices and gets acknowledgements of its outcomes") {
  Bed bed;
  Client client(bed);
  REQUIRE(client.Apply("job-1", Table(1, 2)).ok());
  Agent agent(&client, "node-0");
  CHECK(StateOf(&client, "node-0") == "attached");
  REQUIRE(client.StressWhenReady("job-1", {{"node-0", {0}}}).code() == 0);
  Result result(&client, "job-1");

  const fleet::CoordinatorMessage assigned = agent.Next();
  REQUIRE(assigned.has_assign());
  CHECK(assigned.assign().job() == "job-1");
  REQUIRE(assigned.assign().ranks_size() == 2);
  const std::int64_t run = assigned.assign().run();
  fleet::AgentMessage message;
  message.mutable_ready()->set_run(run);
  REQUIRE(agent.Say(message));
  REQUIRE(agent.Next().has_start());

  fleet::AgentMessage outcomes;
  for (int rank = 0; rank < 2; ++rank) {
    fleet::Outcome& outcome = *outcomes.mutable_outcomes()->add_outcomes();
    outcome.set_run(run);
    outcome.set_rank(rank);
    outcome.set_op(0);
    outcome.set_code(0);
    outcome.set_detail("OK");
    outcome.set_started_ago_ms(10);
  }
  REQUIRE(agent.Say(outcomes));
  const fleet::CoordinatorMessage acknowledged = agent.Next();
  REQUIRE(acknowledged.has_ack());
  CHECK(acknowledged.ack().keys_size() == 2);
  // The same outcomes again are acknowledged again and change nothing.
  REQUIRE(agent.Say(outcomes));
  CHECK(agent.Next().has_ack());

  const Result::Got got = result.Wait();
  CHECK(got.messages == 1);
  CHECK(got.msg.find("stress test finish, result:{\"node-0\":") == 0);
}

fleet::AgentMessage ManyOutcomes(int count, std::size_t detail) {
  fleet::AgentMessage message;
  for (int i = 0; i < count; ++i) {
    fleet::Outcome& outcome = *message.mutable_outcomes()->add_outcomes();
    outcome.set_run(1);
    outcome.set_rank(i % 2);
    outcome.set_op(0);
    outcome.set_detail(std::string(detail, 'x'));
    outcome.set_started_ago_ms(1);
  }
  return message;
}

TEST_CASE("a large message is handled like a small one") {
  Bed bed;
  Client client(bed);
  REQUIRE(client.Apply("job-1", Table(1, 2)).ok());
  Agent agent(&client, "node-0");
  REQUIRE(client.StressWhenReady("job-1", {{"node-0", {0}}}).code() == 0);
  REQUIRE(agent.Next().has_assign());
  fleet::AgentMessage heartbeat;
  heartbeat.mutable_heartbeat();
  for (int round = 0; round < 10; ++round) {
    REQUIRE(agent.Say(ManyOutcomes(1000, 500)));
    REQUIRE(agent.Say(heartbeat));
  }
  int acknowledged = 0;
  while (acknowledged < 10 * 1000) {
    const fleet::CoordinatorMessage message = agent.Next();
    REQUIRE(message.has_ack());
    acknowledged += message.ack().keys_size();
  }
  CHECK(acknowledged == 10 * 1000);
  CHECK(StateOf(&client, "node-0") == "attached");
}

TEST_CASE("an agent that does not read is ended") {
  Bed bed;
  Client client(bed);
  REQUIRE(client.Apply("job-1", Table(1, 2)).ok());
  Agent agent(&client, "node-0");
  REQUIRE(client.StressWhenReady("job-1", {{"node-0", {0}}}).code() == 0);
  const fleet::AgentMessage outcomes = ManyOutcomes(5000, 0);
  bool open = true;
  for (int round = 0; open && round < 20'000; ++round) open = agent.Say(outcomes);
  CHECK_FALSE(open);
  CHECK(Eventually([&] { return StateOf(&client, "node-0") == "lost"; }));
  CHECK(agent.Finish().error_code() == grpc::StatusCode::CANCELLED);
}

TEST_CASE("a node whose agent disconnects is lost, and the agent can attach again") {
  Bed bed;
  Client client(bed);
  {
    Agent agent(&client, "node-0");
    CHECK(StateOf(&client, "node-0") == "attached");
  }
  CHECK(Eventually([&] { return StateOf(&client, "node-0") == "lost"; }));
  Agent again(&client, "node-0");
  CHECK(StateOf(&client, "node-0") == "attached");
}

TEST_CASE("the events of a node name who attached it and who forgot it") {
  EventLog log;
  Bed bed([&log](CoordinatorOptions* options) { LogEvents(options, &log); });
  Client client(bed);
  {
    Agent agent(&client, "node-0");
    REQUIRE(log.Texts("node_attached").size() == 1);
    CHECK_THAT(log.Texts("node_attached").front(),
               Catch::StartsWith("2 devices, driver sim, version 1, from ipv4:127.0.0.1:"));
  }
  CHECK(Eventually([&] { return StateOf(&client, "node-0") == "lost"; }));
  admin::ForgetNodeRequest forget;
  forget.set_name("node-0");
  admin::ForgetNodeResponse forgotten;
  REQUIRE(client.admin->ForgetNode(Client::Context().get(), forget, &forgotten).ok());
  REQUIRE(log.Texts("node_forgotten").size() == 1);
  CHECK_THAT(log.Texts("node_forgotten").front(), Catch::StartsWith("by ipv4:127.0.0.1:"));
}

TEST_CASE("an agent above the limit is refused before it is attached") {
  Bed bed([](CoordinatorOptions* options) { options->limits.links_max = 1; });
  Client client(bed);
  Agent agent(&client, "node-0");
  const auto context = Client::Context();
  const auto stream = client.fleet->Attach(context.get());
  fleet::CoordinatorMessage message;
  CHECK_FALSE(stream->Read(&message));
  const grpc::Status status = stream->Finish();
  CHECK(status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
  CHECK(status.error_message() == "too many attached agents (limit 1)");
}

TEST_CASE("a stop ends an attached agent's stream and stores its node as lost") {
  Bed bed;
  {
    Client client(bed);
    Agent agent(&client, "node-0");
    bed.Restart();
    CHECK(agent.Finish().error_code() == grpc::StatusCode::UNAVAILABLE);
  }
  Client client(bed);
  CHECK(StateOf(&client, "node-0") == "lost");
}

TEST_CASE("heartbeats keep an agent attached; a silent agent is ended") {
  Bed bed([](CoordinatorOptions* options) { options->settings.agent_timeout = 1500; });
  Client client(bed);
  Agent lively(&client, "node-0");
  Agent silent(&client, "node-1");
  const auto status = std::make_shared<grpc::Status>();
  std::thread waiting([&] { *status = silent.Finish(); });
  fleet::AgentMessage heartbeat;
  heartbeat.mutable_heartbeat();
  CHECK(Eventually([&] {
    REQUIRE(lively.Say(heartbeat));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return StateOf(&client, "node-1") == "lost";
  }));
  waiting.join();
  CHECK(status->error_code() == grpc::StatusCode::UNAVAILABLE);
  CHECK(status->error_message().find("the coordinator received nothing from the agent for ") == 0);
  CHECK(StateOf(&client, "node-0") == "attached");
}

TEST_CASE("an agent that sends an invalid message is ended with an error that names it") {
  Bed bed;
  Client client(bed);
  Agent agent(&client, "node-0");
  fleet::AgentMessage message;
  fleet::Outcome& outcome = *message.mutable_outcomes()->add_outcomes();
  outcome.set_run(1);
  outcome.set_op(7);
  REQUIRE(agent.Say(message));
  const grpc::Status status = agent.Finish();
  CHECK(status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK(status.error_message().find("op") != std::string::npos);
  CHECK(Eventually([&] { return StateOf(&client, "node-0") == "lost"; }));
}

TEST_CASE("a stream whose first message is not a Hello is ended") {
  Bed bed;
  Client client(bed);
  const auto context = Client::Context();
  const auto stream = client.fleet->Attach(context.get());
  fleet::AgentMessage message;
  message.mutable_ready()->set_run(1);
  REQUIRE(stream->Write(message));
  fleet::CoordinatorMessage answer;
  CHECK_FALSE(stream->Read(&answer));
  CHECK_FALSE(stream->Finish().ok());
}

TEST_CASE("a newer stream of the same agent replaces the older one") {
  Bed bed;
  Client client(bed);
  Agent old(&client, "node-0");
  Agent young(&client, "node-0");
  CHECK(old.Finish().error_code() == grpc::StatusCode::ABORTED);
  CHECK(StateOf(&client, "node-0") == "attached");
}

}  // namespace
}  // namespace assay::coordinator

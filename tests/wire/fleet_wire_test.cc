// Round trips of random messages, and invalid messages.
#include "wire/fleet_wire.h"

#include <catch2/catch.hpp>
#include <random>
#include <sstream>
#include <string>

#include "fleet.pb.h"
#include "wire/grpc_log.h"

namespace assay::wire {
namespace {

// Every field of a core message as text, for comparisons.
class Dump {
 public:
  template <class... Values>
  void Add(const Values&... values) {
    ((out_ << values << '|'), ...);
  }
  std::string text() const { return out_.str(); }

 private:
  std::ostringstream out_;
};

void Put(const core::Hello& hello, Dump* out) {
  const core::Node& node = hello.node;
  out->Add("hello", hello.protocol, node.name, node.identity, node.version, node.host_name,
           node.fqdn, node.driver);
  for (const std::string& address : node.addresses) out->Add("address", address);
  for (const core::DeviceInfo& device : node.devices) {
    out->Add("device", device.index, device.kind, device.detail);
  }
  for (const core::HeldRun& held : hello.held) out->Add("held", held.run, held.started);
}
void Put(const core::Ready& ready, Dump* out) { out->Add("ready", ready.run); }
void Put(const core::Progress& p, Dump* out) {
  out->Add("progress", p.run, p.rank, Name(p.op), p.started, p.percent, p.text);
}
void Put(const core::Outcomes& outcomes, Dump* out) {
  out->Add("outcomes");
  for (const core::OutcomeReport& r : outcomes.reports) {
    out->Add(r.run, r.rank, Name(r.op), Name(r.code), r.detail, r.started_ago, r.finished_ago);
  }
}
void Put(const core::Discarded& discarded, Dump* out) { out->Add("discarded", discarded.run); }
void Put(const core::Welcome& welcome, Dump* out) { out->Add("welcome", welcome.heartbeat); }
void Put(const core::Assign& assign, Dump* out) {
  out->Add("assign", assign.run, assign.job, assign.aic_deadline, assign.p2p_deadline,
           assign.kill_grace);
  for (const core::AssignedRank& r : assign.ranks) out->Add(r.rank, r.device, int{r.ops.bits()});
}
void Put(const core::Start& start, Dump* out) { out->Add("start", start.run); }
void Put(const core::Cancel& cancel, Dump* out) { out->Add("cancel", cancel.run); }
void Put(const core::Discard& discard, Dump* out) { out->Add("discard", discard.run); }
void Put(const core::Ack& ack, Dump* out) {
  out->Add("ack");
  for (const core::OutcomeKey& key : ack.keys) out->Add(key.run, key.rank, Name(key.op));
}
template <class Variant>
std::string Shape(const Variant& message) {
  Dump dump;
  std::visit([&dump](const auto& body) { Put(body, &dump); }, message);
  return dump.text();
}

class Maker {
 public:
  explicit Maker(std::uint64_t seed) : random_(seed) {}

  std::int64_t Number(std::int64_t least, std::int64_t most) {
    // Often the limits of the range, where mistakes are likely.
    switch (random_() % 8) {
      case 0:
        return least;
      case 1:
        return most;
      default:
        return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
    }
  }
  std::int32_t Small(std::int64_t most) { return static_cast<std::int32_t>(Number(0, most)); }
  bool Flip() { return random_() % 2 == 0; }
  std::string Text(std::size_t bytes_least, std::size_t bytes_max) {
    static const std::string kPieces[] = {
        "a",  "-", ".", "Z", "9", ":", " ", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x94\xA5",
        "\"", "\\"};
    std::string text;
    const auto size = static_cast<std::size_t>(
        Number(static_cast<std::int64_t>(bytes_least), static_cast<std::int64_t>(bytes_max) - 6));
    while (text.size() < size) text += kPieces[random_() % std::size(kPieces)];
    return text;
  }
  core::RunId Run() { return Number(1, INT64_MAX); }
  std::int32_t Index() { return Small(INT32_MAX); }
  assay::core::Op Op() { return Flip() ? core::Op::kAic : core::Op::kP2p; }

  core::AgentMessage FromAgent() {
    switch (random_() % 5) {
      case 0:
        return MakeHello();
      case 1:
        return core::Ready{Run()};
      case 2:
        return core::Progress{Run(), Index(), Op(), Flip(), Small(100), Text(0, kWireTextMax)};
      case 3: {
        core::Outcomes outcomes;
        for (std::int64_t i = Number(1, 20); i > 0; i--) {
          outcomes.reports.push_back(
              {Run(), Index(), Op(), static_cast<core::OutcomeCode>(Small(4)),
               Text(0, kWireTextMax), Number(-1, kWireSpanMax), Number(0, kWireSpanMax)});
        }
        return outcomes;
      }
      default:
        return core::Discarded{Run()};
    }
  }

  core::CoordinatorMessage FromCoordinator() {
    switch (random_() % 6) {
      case 0:
        return core::Welcome{Number(1, kWireSpanMax)};
      case 1:
        return MakeAssign();
      case 2:
        return core::Start{Run()};
      case 3:
        return core::Cancel{Run()};
      case 4:
        return core::Discard{Run()};
      default: {
        core::Ack ack;
        for (std::int64_t i = Number(0, 20); i > 0; i--) ack.keys.push_back({Run(), Index(), Op()});
        return ack;
      }
    }
  }

  std::mt19937_64& random() { return random_; }

 private:
  core::Hello MakeHello() {
    core::Hello hello;
    hello.protocol = static_cast<std::uint32_t>(Number(0, UINT32_MAX));
    core::Node& node = hello.node;
    node.name = Text(1, kWireNameMax);
    node.identity = Text(1, kWireLabelMax);
    node.version = Text(0, kWireLabelMax);
    node.host_name = Text(0, kWireNameMax);
    node.fqdn = Text(0, kWireNameMax);
    node.driver = Text(0, kWireLabelMax);
    for (std::int64_t i = Number(0, 8); i > 0; i--) {
      node.addresses.push_back(Text(1, kWireLabelMax));
    }
    for (std::int32_t i = Small(8); i > 0; i--) {
      node.devices.push_back({i * 3, Text(0, kWireLabelMax), Text(0, kWireTextMax)});
    }
    for (std::int64_t i = Number(0, 8); i > 0; i--) hello.held.push_back({Run(), Flip()});
    return hello;
  }

  core::Assign MakeAssign() {
    core::Assign assign;
    assign.run = Run();
    assign.job = Text(1, kWireJobMax);
    for (std::int32_t i = 1 + Small(15); i > 0; i--) {
      assign.ranks.push_back(
          {i * 7, Index(), core::OpSet(static_cast<std::uint8_t>(Number(1, 3)))});
    }
    assign.aic_deadline = Number(1, kWireSpanMax);
    assign.p2p_deadline = Number(1, kWireSpanMax);
    assign.kill_grace = Number(0, kWireSpanMax);
    return assign;
  }

  std::mt19937_64 random_;
};

TEST_CASE("an agent's messages survive a round trip unchanged", "[fleet_wire]") {
  const std::uint64_t seed = std::random_device()();
  INFO("seed " << seed);
  Maker maker(seed);
  for (int i = 0; i < 500; i++) {
    core::AgentMessage message = maker.FromAgent();
    fleet::AgentMessage parsed;
    REQUIRE(parsed.ParseFromString(ToWire(message).SerializeAsString()));
    base::Result<std::optional<core::AgentMessage>> back = FromWire(parsed);
    if (!back.ok()) FAIL(back.status().text());
    REQUIRE(back->has_value());
    REQUIRE(Shape(**back) == Shape(message));
  }
}

TEST_CASE("a coordinator's messages survive a round trip unchanged", "[fleet_wire]") {
  const std::uint64_t seed = std::random_device()();
  INFO("seed " << seed);
  Maker maker(seed);
  for (int i = 0; i < 500; i++) {
    core::CoordinatorMessage message = maker.FromCoordinator();
    fleet::CoordinatorMessage parsed;
    REQUIRE(parsed.ParseFromString(ToWire(message).SerializeAsString()));
    base::Result<core::CoordinatorMessage> back = FromWire(parsed);
    if (!back.ok()) FAIL(back.status().text());
    REQUIRE(Shape(*back) == Shape(message));
  }
}

// Changes a few bytes of random messages and calls `check` for each that protobuf still parses.
template <class Wire, class Make, class Check>
void ChangeBytes(std::uint64_t seed, Make make, Check check) {
  INFO("seed " << seed);
  QuietGrpc();
  Maker maker(seed);
  int parsed_count = 0;
  for (int i = 0; i < 3000; i++) {
    std::string bytes = ToWire(make(&maker)).SerializeAsString();
    for (std::int64_t n = maker.Number(1, 4); n > 0 && !bytes.empty(); n--) {
      bytes[maker.random()() % bytes.size()] = static_cast<char>(maker.random()());
    }
    Wire wire;
    if (!wire.ParseFromString(bytes)) continue;
    parsed_count++;
    check(wire);
  }
  REQUIRE(parsed_count > 100);
}

TEST_CASE("a damaged message is refused, or read and survives a round trip", "[fleet_wire]") {
  const std::uint64_t seed = std::random_device()();
  ChangeBytes<fleet::AgentMessage>(
      seed, [](Maker* maker) { return maker->FromAgent(); },
      [](const fleet::AgentMessage& wire) {
        base::Result<std::optional<core::AgentMessage>> read = FromWire(wire);
        if (!read.ok()) {
          REQUIRE(read.status().code() == base::Code::kInvalid);
          REQUIRE(read.status().text().size() < 1024);
        } else if (read->has_value()) {
          base::Result<std::optional<core::AgentMessage>> again = FromWire(ToWire(**read));
          REQUIRE(again.ok());
          REQUIRE(Shape(**again) == Shape(**read));
        }
      });
  ChangeBytes<fleet::CoordinatorMessage>(
      seed, [](Maker* maker) { return maker->FromCoordinator(); },
      [](const fleet::CoordinatorMessage& wire) {
        base::Result<core::CoordinatorMessage> read = FromWire(wire);
        if (!read.ok()) {
          REQUIRE(read.status().code() == base::Code::kInvalid);
          REQUIRE(read.status().text().size() < 1024);
        } else {
          base::Result<core::CoordinatorMessage> again = FromWire(ToWire(*read));
          REQUIRE(again.ok());
          REQUIRE(Shape(*again) == Shape(*read));
        }
      });
}

template <class Wire>
std::string Refusal(const Wire& wire) {
  auto read = FromWire(wire);
  if (read.ok()) return "accepted";
  REQUIRE(read.status().code() == base::Code::kInvalid);
  return read.status().text();
}

TEST_CASE("a refusal names the field and the value", "[fleet_wire]") {
  fleet::AgentMessage agent;
  CHECK(Refusal(agent) ==
        "AgentMessage.body: is empty or of a kind that this version does not support");
  CHECK(Refusal(fleet::CoordinatorMessage()) ==
        "CoordinatorMessage.body: is empty or of a kind that this version does not support");

  agent.mutable_hello();
  CHECK(Refusal(agent) == "Hello.node: is empty");
  agent.mutable_hello()->set_node("a\nb");
  CHECK(Refusal(agent) == "Hello.node: has a control character");
  agent.mutable_hello()->set_node(std::string(10000, 'x'));
  CHECK(Refusal(agent) == "Hello.node: has 10000 bytes, more than 256");
  agent.mutable_hello()->set_node("\xC0\x80");
  CHECK(Refusal(agent) == "Hello.node: is not UTF-8");
  agent.mutable_hello()->set_node("n1");
  CHECK(Refusal(agent) == "Hello.identity: is empty");
  agent.mutable_hello()->set_identity("i1");
  CHECK(Refusal(agent) == "accepted");
  agent.mutable_hello()->add_devices()->set_index(-3);
  CHECK(Refusal(agent) == "Hello.devices[0].index: -3 is not in 0 to 2147483647");
  agent.mutable_hello()->mutable_devices(0)->set_index(3);
  agent.mutable_hello()->add_devices()->set_index(3);
  CHECK(Refusal(agent) == "Hello.devices[1].index: 3 appears twice");

  fleet::Outcome* outcome = agent.mutable_outcomes()->add_outcomes();
  CHECK(Refusal(agent) == "Outcomes.outcomes[0].run: 0 is not in 1 to 9223372036854775807");
  outcome->set_run(1);
  outcome->set_op(7);
  CHECK(Refusal(agent) == "Outcomes.outcomes[0].op: 7 is not an op (0 aic, 1 p2p)");
  outcome->set_op(1);
  outcome->set_code(5);
  CHECK(Refusal(agent) == "Outcomes.outcomes[0].code: 5 is not an outcome code (0 to 4)");
  outcome->set_code(4);
  outcome->set_finished_ago_ms(-1);
  CHECK(Refusal(agent).rfind("Outcomes.outcomes[0].finished_ago_ms: -1 is not in 0 to ", 0) == 0);
  agent.mutable_outcomes()->clear_outcomes();
  CHECK(Refusal(agent) == "Outcomes.outcomes: is empty");
  agent.mutable_progress()->set_run(1);
  agent.mutable_progress()->set_percent(101);
  CHECK(Refusal(agent) == "Progress.percent: 101 is not in 0 to 100");
  agent.mutable_heartbeat();
  CHECK(Refusal(agent) == "accepted");
  CHECK_FALSE(FromWire(agent)->has_value());

  fleet::CoordinatorMessage coordinator;
  fleet::Assign* assign = coordinator.mutable_assign();
  assign->set_run(1);
  assign->set_job("j");
  assign->set_aic_deadline_ms(1);
  assign->set_p2p_deadline_ms(INT64_MAX);
  CHECK(Refusal(coordinator).rfind("Assign.p2p_deadline_ms: 9223372036854775807 is not in", 0) ==
        0);
  assign->set_p2p_deadline_ms(1);
  CHECK(Refusal(coordinator) == "Assign.ranks: is empty");
  assign->add_ranks()->set_ops(4);
  CHECK(Refusal(coordinator) ==
        "Assign.ranks[0].ops: 4 is not a set of ops (1 aic, 2 p2p, 3 both)");
  assign->mutable_ranks(0)->set_ops(3);
  assign->add_ranks()->set_ops(3);
  CHECK(Refusal(coordinator) == "Assign.ranks[1].rank: 0 appears twice");
}

TEST_CASE("ToWire cuts texts for people and makes them printable", "[fleet_wire]") {
  core::Outcomes outcomes;
  outcomes.reports.resize(1);
  outcomes.reports[0].run = 1;
  outcomes.reports[0].detail = "bad \xFF byte\n" + std::string(5000, 'x');
  outcomes.reports[0].started_ago = -500;  // the clock was set back
  base::Result<std::optional<core::AgentMessage>> read =
      FromWire(ToWire(core::AgentMessage(outcomes)));
  REQUIRE(read.ok());
  const core::OutcomeReport& report = std::get<core::Outcomes>(**read).reports[0];
  CHECK(report.detail.rfind("bad \\xff byte\\nxxx", 0) == 0);
  CHECK(report.detail.size() == kWireTextMax);
  CHECK(report.started_ago == 0);
}

}  // namespace
}  // namespace assay::wire

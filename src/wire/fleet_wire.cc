#include "wire/fleet_wire.h"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "fleet.pb.h"

namespace assay::wire {
namespace {

constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const int length = base::Utf8Length(text);
    if (length <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(length));
  }
  return true;
}

bool HasControl(std::string_view utf8) {
  while (!utf8.empty()) {
    if (base::IsControl(utf8)) return true;
    utf8.remove_prefix(static_cast<std::size_t>(base::Utf8Length(utf8)));
  }
  return false;
}

// The text as printable UTF-8 of at most bytes_max bytes. A text that was cut ends in "...".
std::string Clean(const std::string& text, std::size_t bytes_max) {
  if (text.size() <= bytes_max && IsUtf8(text) && !HasControl(text)) return text;
  return base::Shown(text, bytes_max - 3);
}

// The path of a field: `Hello.node` or `Outcomes.outcomes[3].detail`.
struct Place {
  const char* message;
  const char* field;
  int index = -1;
  const char* inner = "";

  std::string Text() const {
    std::string text = std::string(message) + "." + field;
    if (index >= 0) text += "[" + std::to_string(index) + "]";
    if (*inner != '\0') text += std::string(".") + inner;
    return text;
  }
};

// Checks and converts the values of one message and retains the first error.
class Reader {
 public:
  const base::Status& status() const { return status_; }
  bool ok() const { return status_.ok(); }

  void Fail(const Place& place, const std::string& why) {
    if (ok()) status_ = base::InvalidError(place.Text() + ": " + why);
  }

  std::int64_t Number(std::int64_t value, std::int64_t least, std::int64_t most,
                      const Place& place) {
    if (value >= least && value <= most) return value;
    Fail(place, std::to_string(value) + " is not in " + std::to_string(least) + " to " +
                    std::to_string(most));
    return least;
  }
  std::int32_t Number32(std::int64_t value, const Place& place) {
    return static_cast<std::int32_t>(Number(value, 0, kInt32Max, place));
  }
  core::RunId Run(std::int64_t value, const Place& place) {
    return Number(value, 1, kInt64Max, place);
  }
  core::Ms Span(std::int64_t value, const Place& place) {
    return Number(value, 1, kWireSpanMax, place);
  }

  assay::core::Op Op(std::int64_t value, const Place& place) {
    std::optional<assay::core::Op> op = core::OpFromWire(value);
    if (!op) Fail(place, std::to_string(value) + " is not an op (0 aic, 1 p2p)");
    return op.value_or(assay::core::Op::kAic);
  }
  core::OutcomeCode Code(std::int64_t value, const Place& place) {
    std::optional<core::OutcomeCode> code = core::OutcomeCodeFromInt(value);
    if (!code) Fail(place, std::to_string(value) + " is not an outcome code (0 to 4)");
    return code.value_or(core::OutcomeCode::kNotRun);
  }
  core::OpSet Ops(std::uint32_t bits, const Place& place) {
    if (bits == 0 || bits > 3) {
      Fail(place, std::to_string(bits) + " is not a set of ops (1 aic, 2 p2p, 3 both)");
    }
    return core::OpSet(static_cast<std::uint8_t>(bits & 3));
  }

  std::string Name(const std::string& value, std::size_t bytes_max, const Place& place) {
    if (!Sized(value, bytes_max, place)) return {};
    if (HasControl(value)) Fail(place, "has a control character");
    return value;
  }
  std::string NameNeeded(const std::string& value, std::size_t bytes_max, const Place& place) {
    if (value.empty()) Fail(place, "is empty");
    return Name(value, bytes_max, place);
  }
  std::string Text(const std::string& value, const Place& place) {
    if (!Sized(value, kWireTextMax, place)) return {};
    return HasControl(value) ? Clean(value, kWireTextMax) : value;
  }
  bool List(int size, int size_max, const Place& place) {
    if (size > size_max) {
      Fail(place,
           "has " + std::to_string(size) + " entries, more than " + std::to_string(size_max));
    }
    return ok();
  }

 private:
  bool Sized(const std::string& value, std::size_t bytes_max, const Place& place) {
    if (value.size() > bytes_max) {
      Fail(place, "has " + std::to_string(value.size()) + " bytes, more than " +
                      std::to_string(bytes_max));
      return false;
    }
    if (!IsUtf8(value)) {
      Fail(place, "is not UTF-8");
      return false;
    }
    return true;
  }

  base::Status status_;
};

template <class Message, class Value>
base::Result<Message> Finish(const Reader& reader, Value value) {
  if (!reader.ok()) return reader.status();
  return Message(std::move(value));
}

// --- Agent -> coordinator ---------------------------------------------------------------------

void Write(const core::Hello& hello, fleet::AgentMessage* out) {
  fleet::Hello* to = out->mutable_hello();
  const core::Node& node = hello.node;
  to->set_protocol(hello.protocol);
  to->set_node(Clean(node.name, kWireNameMax));
  to->set_identity(Clean(node.identity, kWireLabelMax));
  to->set_version(Clean(node.version, kWireLabelMax));
  to->set_host_name(Clean(node.host_name, kWireNameMax));
  to->set_fqdn(Clean(node.fqdn, kWireNameMax));
  for (const std::string& address : node.addresses) {
    if (to->addresses_size() == kWireAddressesMax) break;
    to->add_addresses(Clean(address, kWireLabelMax));
  }
  to->set_driver(Clean(node.driver, kWireLabelMax));
  for (const core::DeviceInfo& device : node.devices) {
    if (to->devices_size() == kWireDevicesMax) break;
    fleet::Device* one = to->add_devices();
    one->set_index(device.index);
    one->set_kind(Clean(device.kind, kWireLabelMax));
    one->set_detail(Clean(device.detail, kWireTextMax));
  }
  for (const core::HeldRun& held : hello.held) {
    fleet::HeldRun* one = to->add_held();
    one->set_run(held.run);
    one->set_started(held.started);
  }
}

void Write(const core::Ready& ready, fleet::AgentMessage* out) {
  out->mutable_ready()->set_run(ready.run);
}

void Write(const core::Progress& progress, fleet::AgentMessage* out) {
  fleet::Progress* to = out->mutable_progress();
  to->set_run(progress.run);
  to->set_rank(progress.rank);
  to->set_op(static_cast<int>(progress.op));
  to->set_started(progress.started);
  to->set_percent(std::clamp(progress.percent, 0, 100));
  to->set_text(Clean(progress.text, kWireTextMax));
}

void Write(const core::Outcomes& outcomes, fleet::AgentMessage* out) {
  fleet::Outcomes* to = out->mutable_outcomes();
  for (const core::OutcomeReport& report : outcomes.reports) {
    fleet::Outcome* one = to->add_outcomes();
    one->set_run(report.run);
    one->set_rank(report.rank);
    one->set_op(static_cast<int>(report.op));
    one->set_code(static_cast<int>(report.code));
    one->set_detail(Clean(report.detail, kWireTextMax));
    // A clock that was set back must not change "started" into "never started" (-1).
    one->set_started_ago_ms(report.started_ago < -1 ? 0
                                                    : std::min(report.started_ago, kWireSpanMax));
    one->set_finished_ago_ms(std::clamp(report.finished_ago, core::Ms{0}, kWireSpanMax));
  }
}

void Write(const core::Discarded& discarded, fleet::AgentMessage* out) {
  out->mutable_discarded()->set_run(discarded.run);
}

base::Result<core::AgentMessage> Read(const fleet::Hello& from) {
  Reader reader;
  core::Hello hello;
  core::Node& node = hello.node;
  hello.protocol = from.protocol();
  node.name = reader.NameNeeded(from.node(), kWireNameMax, {"Hello", "node"});
  node.identity = reader.NameNeeded(from.identity(), kWireLabelMax, {"Hello", "identity"});
  node.version = reader.Name(from.version(), kWireLabelMax, {"Hello", "version"});
  node.host_name = reader.Name(from.host_name(), kWireNameMax, {"Hello", "host_name"});
  node.fqdn = reader.Name(from.fqdn(), kWireNameMax, {"Hello", "fqdn"});
  node.driver = reader.Name(from.driver(), kWireLabelMax, {"Hello", "driver"});
  if (reader.List(from.addresses_size(), kWireAddressesMax, {"Hello", "addresses"})) {
    for (int i = 0; i < from.addresses_size(); i++) {
      node.addresses.push_back(
          reader.NameNeeded(from.addresses(i), kWireLabelMax, {"Hello", "addresses", i}));
    }
  }
  if (reader.List(from.devices_size(), kWireDevicesMax, {"Hello", "devices"})) {
    std::unordered_set<std::int32_t> seen;
    for (int i = 0; i < from.devices_size() && reader.ok(); i++) {
      const fleet::Device& device = from.devices(i);
      core::DeviceInfo info;
      info.index = reader.Number32(device.index(), {"Hello", "devices", i, "index"});
      info.kind = reader.Name(device.kind(), kWireLabelMax, {"Hello", "devices", i, "kind"});
      info.detail = reader.Text(device.detail(), {"Hello", "devices", i, "detail"});
      if (!seen.insert(info.index).second) {
        reader.Fail({"Hello", "devices", i, "index"},
                    std::to_string(info.index) + " appears twice");
      }
      node.devices.push_back(std::move(info));
    }
  }
  if (reader.List(from.held_size(), kWireListMax, {"Hello", "held"})) {
    for (int i = 0; i < from.held_size(); i++) {
      hello.held.push_back(
          {reader.Run(from.held(i).run(), {"Hello", "held", i, "run"}), from.held(i).started()});
    }
  }
  return Finish<core::AgentMessage>(reader, std::move(hello));
}

base::Result<core::AgentMessage> Read(const fleet::Ready& from) {
  Reader reader;
  return Finish<core::AgentMessage>(reader, core::Ready{reader.Run(from.run(), {"Ready", "run"})});
}

base::Result<core::AgentMessage> Read(const fleet::Progress& from) {
  Reader reader;
  core::Progress progress;
  progress.run = reader.Run(from.run(), {"Progress", "run"});
  progress.rank = reader.Number32(from.rank(), {"Progress", "rank"});
  progress.op = reader.Op(from.op(), {"Progress", "op"});
  progress.started = from.started();
  progress.percent =
      static_cast<std::int32_t>(reader.Number(from.percent(), 0, 100, {"Progress", "percent"}));
  progress.text = reader.Text(from.text(), {"Progress", "text"});
  return Finish<core::AgentMessage>(reader, std::move(progress));
}

base::Result<core::AgentMessage> Read(const fleet::Outcomes& from) {
  Reader reader;
  core::Outcomes outcomes;
  if (from.outcomes_size() == 0) reader.Fail({"Outcomes", "outcomes"}, "is empty");
  if (!reader.List(from.outcomes_size(), kWireListMax, {"Outcomes", "outcomes"})) {
    return reader.status();
  }
  outcomes.reports.reserve(static_cast<std::size_t>(from.outcomes_size()));
  for (int i = 0; i < from.outcomes_size() && reader.ok(); i++) {
    const fleet::Outcome& one = from.outcomes(i);
    auto at = [i](const char* field) { return Place{"Outcomes", "outcomes", i, field}; };
    core::OutcomeReport report;
    report.run = reader.Run(one.run(), at("run"));
    report.rank = reader.Number32(one.rank(), at("rank"));
    report.op = reader.Op(one.op(), at("op"));
    report.code = reader.Code(one.code(), at("code"));
    report.detail = reader.Text(one.detail(), at("detail"));
    report.started_ago =
        reader.Number(one.started_ago_ms(), -1, kWireSpanMax, at("started_ago_ms"));
    report.finished_ago =
        reader.Number(one.finished_ago_ms(), 0, kWireSpanMax, at("finished_ago_ms"));
    outcomes.reports.push_back(std::move(report));
  }
  return Finish<core::AgentMessage>(reader, std::move(outcomes));
}

base::Result<core::AgentMessage> Read(const fleet::Discarded& from) {
  Reader reader;
  return Finish<core::AgentMessage>(reader,
                                    core::Discarded{reader.Run(from.run(), {"Discarded", "run"})});
}

// --- Coordinator -> agent ---------------------------------------------------------------------

void Write(const core::Welcome& welcome, fleet::CoordinatorMessage* out) {
  out->mutable_welcome()->set_heartbeat_ms(
      std::clamp(welcome.heartbeat, core::Ms{1}, kWireSpanMax));
}

void Write(const core::Assign& assign, fleet::CoordinatorMessage* out) {
  fleet::Assign* to = out->mutable_assign();
  to->set_run(assign.run);
  to->set_job(Clean(assign.job, kWireJobMax));
  for (const core::AssignedRank& rank : assign.ranks) {
    fleet::AssignedRank* one = to->add_ranks();
    one->set_rank(rank.rank);
    one->set_device(rank.device);
    one->set_ops(rank.ops.bits());
  }
  to->set_aic_deadline_ms(std::clamp(assign.aic_deadline, core::Ms{1}, kWireSpanMax));
  to->set_p2p_deadline_ms(std::clamp(assign.p2p_deadline, core::Ms{1}, kWireSpanMax));
  to->set_kill_grace_ms(std::clamp(assign.kill_grace, core::Ms{0}, kWireSpanMax));
}

void Write(const core::Start& start, fleet::CoordinatorMessage* out) {
  out->mutable_start()->set_run(start.run);
}

void Write(const core::Cancel& cancel, fleet::CoordinatorMessage* out) {
  out->mutable_cancel()->set_run(cancel.run);
}

void Write(const core::Discard& discard, fleet::CoordinatorMessage* out) {
  out->mutable_discard()->set_run(discard.run);
}

void Write(const core::Ack& ack, fleet::CoordinatorMessage* out) {
  fleet::Ack* to = out->mutable_ack();
  for (const core::OutcomeKey& key : ack.keys) {
    fleet::OutcomeKey* one = to->add_keys();
    one->set_run(key.run);
    one->set_rank(key.rank);
    one->set_op(static_cast<int>(key.op));
  }
}

base::Result<core::CoordinatorMessage> Read(const fleet::Welcome& from) {
  Reader reader;
  core::Welcome welcome{reader.Span(from.heartbeat_ms(), {"Welcome", "heartbeat_ms"})};
  return Finish<core::CoordinatorMessage>(reader, welcome);
}

base::Result<core::CoordinatorMessage> Read(const fleet::Assign& from) {
  Reader reader;
  core::Assign assign;
  assign.run = reader.Run(from.run(), {"Assign", "run"});
  assign.job = reader.NameNeeded(from.job(), kWireJobMax, {"Assign", "job"});
  assign.aic_deadline = reader.Span(from.aic_deadline_ms(), {"Assign", "aic_deadline_ms"});
  assign.p2p_deadline = reader.Span(from.p2p_deadline_ms(), {"Assign", "p2p_deadline_ms"});
  assign.kill_grace =
      reader.Number(from.kill_grace_ms(), 0, kWireSpanMax, {"Assign", "kill_grace_ms"});
  if (from.ranks_size() == 0) reader.Fail({"Assign", "ranks"}, "is empty");
  if (!reader.List(from.ranks_size(), kWireListMax, {"Assign", "ranks"})) return reader.status();
  std::unordered_set<std::int32_t> seen;
  for (int i = 0; i < from.ranks_size() && reader.ok(); i++) {
    const fleet::AssignedRank& one = from.ranks(i);
    auto at = [i](const char* field) { return Place{"Assign", "ranks", i, field}; };
    core::AssignedRank rank;
    rank.rank = reader.Number32(one.rank(), at("rank"));
    rank.device = reader.Number32(one.device(), at("device"));
    rank.ops = reader.Ops(one.ops(), at("ops"));
    if (!seen.insert(rank.rank).second) {
      reader.Fail(at("rank"), std::to_string(rank.rank) + " appears twice");
    }
    assign.ranks.push_back(rank);
  }
  return Finish<core::CoordinatorMessage>(reader, std::move(assign));
}

base::Result<core::CoordinatorMessage> Read(const fleet::Start& from) {
  Reader reader;
  return Finish<core::CoordinatorMessage>(reader,
                                          core::Start{reader.Run(from.run(), {"Start", "run"})});
}

base::Result<core::CoordinatorMessage> Read(const fleet::Cancel& from) {
  Reader reader;
  return Finish<core::CoordinatorMessage>(reader,
                                          core::Cancel{reader.Run(from.run(), {"Cancel", "run"})});
}

base::Result<core::CoordinatorMessage> Read(const fleet::Discard& from) {
  Reader reader;
  return Finish<core::CoordinatorMessage>(
      reader, core::Discard{reader.Run(from.run(), {"Discard", "run"})});
}

base::Result<core::CoordinatorMessage> Read(const fleet::Ack& from) {
  Reader reader;
  core::Ack ack;
  if (!reader.List(from.keys_size(), kWireListMax, {"Ack", "keys"})) return reader.status();
  for (int i = 0; i < from.keys_size() && reader.ok(); i++) {
    const fleet::OutcomeKey& one = from.keys(i);
    ack.keys.push_back({reader.Run(one.run(), {"Ack", "keys", i, "run"}),
                        reader.Number32(one.rank(), {"Ack", "keys", i, "rank"}),
                        reader.Op(one.op(), {"Ack", "keys", i, "op"})});
  }
  return Finish<core::CoordinatorMessage>(reader, std::move(ack));
}

base::Result<std::optional<core::AgentMessage>> Some(base::Result<core::AgentMessage> message) {
  if (!message.ok()) return message.status();
  return std::optional<core::AgentMessage>(std::move(message).value());
}

}  // namespace

fleet::AgentMessage ToWire(const core::AgentMessage& message) {
  fleet::AgentMessage out;
  std::visit([&out](const auto& body) { Write(body, &out); }, message);
  return out;
}

fleet::CoordinatorMessage ToWire(const core::CoordinatorMessage& message) {
  fleet::CoordinatorMessage out;
  std::visit([&out](const auto& body) { Write(body, &out); }, message);
  return out;
}

base::Result<std::optional<core::AgentMessage>> FromWire(const fleet::AgentMessage& message) {
  switch (message.body_case()) {
    case fleet::AgentMessage::kHello:
      return Some(Read(message.hello()));
    case fleet::AgentMessage::kHeartbeat:
      return std::optional<core::AgentMessage>();
    case fleet::AgentMessage::kReady:
      return Some(Read(message.ready()));
    case fleet::AgentMessage::kProgress:
      return Some(Read(message.progress()));
    case fleet::AgentMessage::kOutcomes:
      return Some(Read(message.outcomes()));
    case fleet::AgentMessage::kDiscarded:
      return Some(Read(message.discarded()));
    case fleet::AgentMessage::BODY_NOT_SET:
      break;
  }
  return base::InvalidError(
      "AgentMessage.body: is empty or of a kind that this version does not support");
}

base::Result<core::CoordinatorMessage> FromWire(const fleet::CoordinatorMessage& message) {
  switch (message.body_case()) {
    case fleet::CoordinatorMessage::kWelcome:
      return Read(message.welcome());
    case fleet::CoordinatorMessage::kAssign:
      return Read(message.assign());
    case fleet::CoordinatorMessage::kStart:
      return Read(message.start());
    case fleet::CoordinatorMessage::kCancel:
      return Read(message.cancel());
    case fleet::CoordinatorMessage::kDiscard:
      return Read(message.discard());
    case fleet::CoordinatorMessage::kAck:
      return Read(message.ack());
    case fleet::CoordinatorMessage::BODY_NOT_SET:
      break;
  }
  return base::InvalidError(
      "CoordinatorMessage.body: is empty or of a kind that this version does not support");
}

}  // namespace assay::wire

#include "agent/link.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <random>
#include <utility>

#include "base/host_port.h"
#include "base/log.h"
#include "base/text.h"
#include "base/thread.h"
#include "fleet.grpc.pb.h"
#include "wire/fleet_wire.h"

namespace assay::agent {
namespace {

constexpr core::Ms kConnectWait = 3500;  // plus the longest kAfterFailure: at most 5 s per attempt
constexpr core::Ms kConnectLook = 20;    // interval of checks while connecting
constexpr core::Ms kWelcomeWait = 60'000;
constexpr core::Ms kBrokenWait = 2000;
constexpr core::Ms kStatusWait = 1000;
constexpr core::Ms kCloseWait = 500;
constexpr core::Ms kHeartbeatLeast = 50;
constexpr std::size_t kReportsPerMessage = 256;
constexpr std::size_t kStatusShown = 300;
constexpr int kReceiveBytesMax = 16 << 20;

// The pause before the next attempt, by how the last one ended.
struct Pause {
  core::Ms least;
  core::Ms most;
};
constexpr Pause kAfterLoss{100, 500};  // spreads the agents of a coordinator that restarts
constexpr Pause kAfterFailure{1000, 1500};
constexpr Pause kAfterRefusal{3000, 4000};

std::shared_ptr<grpc::Channel> Dial(const std::string& target) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, static_cast<int>(kConnectWait));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 5000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetMaxReceiveMessageSize(kReceiveBytesMax);
  return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
}

// One attempt: a channel, a call, and the one message in flight each way. The loop holds the call
// (AddHold) as long as it uses it.
class Stream final
    : public grpc::ClientBidiReactor<fleet::AgentMessage, fleet::CoordinatorMessage> {
 public:
  Stream(std::uint64_t id, const std::string& target, std::shared_ptr<AgentInbox> inbox)
      : id_(id),
        inbox_(std::move(inbox)),
        channel_(Dial(target)),
        stub_(fleet::Fleet::NewStub(channel_)) {
    stub_->async()->Attach(&context_, this);
    AddHold();
    StartRead(&incoming_);
    StartCall();
  }

  bool Connected() { return channel_->GetState(false) == GRPC_CHANNEL_READY; }
  const fleet::CoordinatorMessage& incoming() const { return incoming_; }
  const grpc::Status& status() const { return status_; }  // after kStreamEnded

  // REQUIRES, for these three: ReleaseHold was not called.
  void ReadNext() { StartRead(&incoming_); }
  void Write(fleet::AgentMessage message) {
    outgoing_ = std::move(message);
    StartWrite(&outgoing_);
  }
  void WriteNoMore() { StartWritesDone(); }

  void ReleaseHold() {
    if (std::exchange(held_, false)) RemoveHold();
  }
  void Cancel() {
    context_.TryCancel();
    ReleaseHold();
  }

  // Cancels the stream and deletes it once gRPC has finished with it, now or later.
  static void Abandon(std::unique_ptr<Stream> stream) {
    stream->Cancel();
    if (stream->end_.exchange(End::kAbandoned, std::memory_order_acq_rel) == End::kEnded) return;
    (void)stream.release();
  }

 private:
  enum class End : std::uint8_t { kNotYet, kEnded, kAbandoned };

  void OnReadDone(bool ok) override { Post(AgentInput::Kind::kStreamRead, ok); }
  void OnWriteDone(bool ok) override { Post(AgentInput::Kind::kStreamWrote, ok); }
  void OnDone(const grpc::Status& status) override {
    status_ = status;
    // After the exchange below the loop may delete this object.
    const std::shared_ptr<AgentInbox> inbox = inbox_;
    AgentInput input{AgentInput::Kind::kStreamEnded, true, id_};
    if (end_.exchange(End::kEnded, std::memory_order_acq_rel) == End::kAbandoned) {
      // Not on this thread: destroying the last channel destroys the queue that runs this reaction,
      // which would wait for its own thread.
      const base::Status started =
          base::StartDetachedThread("the end of a stream", "stream-end", [this] { delete this; });
      // Keep the object then: a leak of one stream is better than a deadlock.
      if (!started.ok()) base::LogWarn(started.text());
    } else {
      (void)inbox->Post(AgentInput(input));
    }
  }
  void Post(AgentInput::Kind kind, bool ok) {
    (void)inbox_->Post(AgentInput{kind, ok, id_});  // fails only when the loop has ended
  }

  const std::uint64_t id_;
  const std::shared_ptr<AgentInbox> inbox_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<fleet::Fleet::Stub> stub_;
  grpc::ClientContext context_;
  // gRPC owns it while a read is in flight, otherwise the loop does.
  fleet::CoordinatorMessage incoming_;
  // gRPC owns it while a write is in flight, otherwise the loop does.
  fleet::AgentMessage outgoing_;
  grpc::Status status_;
  bool held_ = true;  // used by the loop only
  // Once the loop abandons the stream, the second of gRPC (kEnded) and the loop (kAbandoned) to
  // arrive deletes it. Acquire and release: the second sees what the first did.
  std::atomic<End> end_{End::kNotYet};
};

// True for a status that the coordinator chose; false for one of the connection or of gRPC.
bool IsRefusal(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::OK:
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::UNKNOWN:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::INTERNAL:
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DATA_LOSS:
      return false;
    default:
      return true;
  }
}

std::string Describe(const grpc::Status& status) {
  if (status.error_message().empty()) {
    return status.ok() ? "it ended the stream"
                       : "gRPC status " + std::to_string(status.error_code());
  }
  return base::Shown(status.error_message(), kStatusShown);
}

}  // namespace

base::Result<std::string> CoordinatorTarget(std::string_view text) {
  const base::Result<base::HostPort> address =
      base::ParseHostPort(text, {.default_port = base::kCoordinatorPort});
  if (!address.ok()) return base::InvalidError("--coordinator=" + address.status().text());
  return "dns:///" + address->Text();
}

class Link::Impl {
 public:
  Impl(LinkOptions options, std::shared_ptr<AgentInbox> inbox)
      : options_(std::move(options)), inbox_(std::move(inbox)), random_(std::random_device()()) {}

  ~Impl() {
    if (stream_ != nullptr) Stream::Abandon(std::move(stream_));
  }

  void Handle(const AgentInput& input, core::Ms now, std::vector<core::node::NodeEvent>* out) {
    if (stream_ == nullptr || input.stream != stream_id_) return;  // from an earlier stream
    switch (input.kind) {
      case AgentInput::Kind::kStreamRead:
        if (input.ok) {
          Read(now, out);
        } else if (phase_ != Phase::kEnding) {
          // The status follows, unless gRPC failed only to decode this message: hence the timer.
          stream_->ReleaseHold();
          Down(out);
          wake_at_ = now + kStatusWait;
        }
        break;
      case AgentInput::Kind::kStreamWrote:
        writing_ = false;
        if (!input.ok && !broken_) {
          // The status with the reason arrives after the messages that can still be read.
          broken_ = true;
          wake_at_ = now + kBrokenWait;
        }
        Pump(now);
        break;
      case AgentInput::Kind::kStreamEnded:
        Ended(now, out);
        break;
      case AgentInput::Kind::kStop:
      case AgentInput::Kind::kForceStop:
      case AgentInput::Kind::kAbandon:
        break;
    }
  }

  void Tick(core::Ms now, std::vector<core::node::NodeEvent>* out) {
    if (stream_ == nullptr) {
      if (now >= wake_at_ && !closing_) Open(now);
      return;
    }
    if (phase_ == Phase::kConnecting && stream_->Connected()) GoUp(now, out);
    const bool late = now >= wake_at_;
    if (phase_ == Phase::kEnding) {
      if (late && ended_because_.empty()) {
        End("it sent a message that gRPC cannot decode", Ending::kBad, out);
      }
      return;
    }
    if (closing_ && (now >= close_at_ || !up())) {
      End("closed", Ending::kLost, out);
    } else if (overrun_ || (broken_ && late)) {
      End("it does not accept messages", Ending::kLost, out);
    } else if (phase_ == Phase::kConnecting && late) {
      End("no connection within " + std::to_string(kConnectWait) + " ms", Ending::kLost, out);
    } else if (phase_ == Phase::kGreeting && late) {
      End("it did not answer the hello", Ending::kBad, out);
    } else if (phase_ == Phase::kAttached && late && !Writing()) {
      fleet::AgentMessage message;
      message.mutable_heartbeat();
      Enqueue(std::move(message), now);
    }
    Pump(now);
  }

  core::Ms NextDeadline(core::Ms now) const {
    const core::Ms far = now + 3'600'000;
    if (stream_ == nullptr) return closing_ ? far : wake_at_;
    if (phase_ == Phase::kEnding) return ended_because_.empty() ? wake_at_ : far;
    if (overrun_ || (closing_ && !up())) return now;
    core::Ms next = phase_ == Phase::kAttached && Writing() ? far : wake_at_;
    if (phase_ == Phase::kConnecting) next = std::min(next, now + kConnectLook);
    return closing_ ? std::min(next, close_at_) : next;
  }

  void Send(const core::AgentMessage& message, core::Ms now) {
    if (!up()) return;
    const core::Outcomes* outcomes = std::get_if<core::Outcomes>(&message);
    if (outcomes == nullptr || outcomes->reports.size() <= kReportsPerMessage) {
      Enqueue(wire::ToWire(message), now);
      return;
    }
    for (std::size_t i = 0; i < outcomes->reports.size(); i += kReportsPerMessage) {
      const auto begin = outcomes->reports.begin() + static_cast<std::ptrdiff_t>(i);
      const std::size_t count = std::min(kReportsPerMessage, outcomes->reports.size() - i);
      Enqueue(wire::ToWire(core::Outcomes{{begin, begin + static_cast<std::ptrdiff_t>(count)}}),
              now);
    }
  }

  void Consumed() {
    if (!std::exchange(read_waits_, false)) return;
    if (stream_ != nullptr && phase_ != Phase::kEnding) stream_->ReadNext();
  }

  bool up() const { return phase_ == Phase::kGreeting || phase_ == Phase::kAttached; }
  std::uint64_t stream() const { return up() ? stream_id_ : 0; }

  void Drop(const std::string& why, std::vector<core::node::NodeEvent>* out) {
    if (up()) End(why, Ending::kLost, out);
  }

  void Close(core::Ms now) {
    if (closing_) return;
    closing_ = true;
    close_at_ = now + kCloseWait;
    Pump(now);
  }
  bool closed() const { return closing_ && stream_ == nullptr; }

 private:
  enum class Phase : std::uint8_t {
    kConnecting,  // fails at wake_at_
    kGreeting,    // up; fails at wake_at_ without a Welcome
    kAttached,    // welcomed; the next heartbeat is due at wake_at_
    kEnding,      // down; gRPC has not reported the end of the stream yet
  };
  enum class Ending : std::uint8_t { kLost, kRefused, kBad };

  void Open(core::Ms now) {
    stream_id_++;
    stream_ = std::make_unique<Stream>(stream_id_, options_.target, inbox_);
    phase_ = Phase::kConnecting;
    wake_at_ = now + kConnectWait;
    ended_because_.clear();
    welcomed_ = false;
    writing_ = false;
    broken_ = false;
    overrun_ = false;
  }

  void GoUp(core::Ms now, std::vector<core::node::NodeEvent>* out) {
    phase_ = Phase::kGreeting;
    wake_at_ = now + kWelcomeWait;
    out->push_back(core::node::LinkUp{});
  }

  void Read(core::Ms now, std::vector<core::node::NodeEvent>* out) {
    if (phase_ == Phase::kEnding) return;
    if (closing_) {
      stream_->ReadNext();
      return;
    }
    read_waits_ = true;
    // A message can arrive before Tick has checked the connection.
    if (phase_ == Phase::kConnecting) GoUp(now, out);
    base::Result<core::CoordinatorMessage> message = wire::FromWire(stream_->incoming());
    if (!message.ok()) {
      End("it sent an invalid message: " + message.status().text(), Ending::kBad, out);
      return;
    }
    if (const core::Welcome* welcome = std::get_if<core::Welcome>(&*message))
      Welcomed(*welcome, now);
    out->push_back(core::node::CoordinatorSaid{std::move(message).value()});
  }

  void Welcomed(const core::Welcome& welcome, core::Ms now) {
    heartbeat_ = std::max(welcome.heartbeat * 3 / 4, kHeartbeatLeast);
    if (phase_ == Phase::kGreeting) {
      phase_ = Phase::kAttached;
      wake_at_ = now + heartbeat_;
    }
    if (std::exchange(welcomed_, true)) return;
    base::LogInfo((was_attached_ ? "attached again to the coordinator at "
                                 : "attached to the coordinator at ") +
                  options_.shown + " as node " + options_.node);
    was_attached_ = true;
    logged_.clear();
  }

  // Ends the stream from our side.
  void End(std::string why, Ending ending, std::vector<core::node::NodeEvent>* out) {
    ended_because_ = std::move(why);
    ending_ = ending;
    stream_->Cancel();
    Down(out);
  }

  void Down(std::vector<core::node::NodeEvent>* out) {
    if (up()) out->push_back(core::node::LinkDown{});
    phase_ = Phase::kEnding;
    queue_.clear();
    queue_bytes_ = 0;
    read_waits_ = false;
  }

  void Ended(core::Ms now, std::vector<core::node::NodeEvent>* out) {
    const grpc::Status status = stream_->status();
    stream_.reset();
    Down(out);
    if (ended_because_.empty()) {
      ended_because_ = Describe(status);
      ending_ = IsRefusal(status.error_code()) ? Ending::kRefused : Ending::kLost;
    }
    if (!closing_) LogEnding();
    const Pause pause = ending_ != Ending::kLost ? kAfterRefusal
                        : welcomed_              ? kAfterLoss
                                                 : kAfterFailure;
    wake_at_ = now + std::uniform_int_distribution<core::Ms>(pause.least, pause.most)(random_);
  }

  // Logs each condition once: a lost or unreachable coordinator, and each new refusal.
  void LogEnding() {
    const bool lost = ending_ == Ending::kLost;
    const std::string topic = lost ? "lost" : ended_because_;
    if (logged_ == topic || (lost && !logged_.empty())) return;
    logged_ = topic;
    const std::string& where = options_.shown;
    std::string text;
    switch (ending_) {
      case Ending::kLost:
        text =
            (welcomed_ ? "lost the coordinator at " : "cannot reach the coordinator at ") + where;
        break;
      case Ending::kRefused:
        text = "the coordinator at " + where + " refuses the agent of node " + options_.node;
        break;
      case Ending::kBad:
        text = "the coordinator at " + where + " violates the protocol";
        break;
    }
    base::LogWarn(text + ": " + ended_because_ + "; retrying every few seconds");
  }

  void Enqueue(fleet::AgentMessage message, core::Ms now) {
    const std::size_t bytes = message.ByteSizeLong();
    if (queue_.size() >= options_.queue_messages_max ||
        queue_bytes_ + bytes > options_.queue_bytes_max) {
      if (message.body_case() == fleet::AgentMessage::kProgress) return;
      if (queue_.empty()) {
        base::LogError("cannot send a message of " + std::to_string(bytes) +
                       " bytes to the coordinator: it exceeds the byte limit of the send queue");
        return;
      }
      overrun_ = true;
      return;
    }
    queue_bytes_ += bytes;
    queue_.push_back({std::move(message), bytes});
    Pump(now);
  }

  bool Writing() const { return !broken_ && (writing_ || !queue_.empty()); }

  void Pump(core::Ms now) {
    if (!up() || writing_ || broken_) return;
    if (queue_.empty()) {
      if (closing_ && !std::exchange(writes_done_, true)) stream_->WriteNoMore();
      return;
    }
    Waiting next = std::move(queue_.front());
    queue_.pop_front();
    queue_bytes_ -= next.bytes;
    writing_ = true;
    if (phase_ == Phase::kAttached) wake_at_ = now + heartbeat_;
    stream_->Write(std::move(next.message));
  }

  struct Waiting {
    fleet::AgentMessage message;
    std::size_t bytes = 0;
  };

  const LinkOptions options_;
  const std::shared_ptr<AgentInbox> inbox_;
  std::minstd_rand random_;

  std::uint64_t stream_id_ = 0;
  std::unique_ptr<Stream> stream_;  // null: the next attempt starts at wake_at_
  Phase phase_ = Phase::kEnding;    // of stream_
  core::Ms wake_at_ = 0;

  std::deque<Waiting> queue_;
  std::size_t queue_bytes_ = 0;
  bool writing_ = false;
  bool read_waits_ = false;
  bool broken_ = false;   // a write failed: no more writes
  bool overrun_ = false;  // the queue was full: the stream must end
  core::Ms heartbeat_ = 0;

  bool welcomed_ = false;  // on this stream
  bool was_attached_ = false;
  std::string ended_because_;  // empty: this side did not end it
  Ending ending_ = Ending::kLost;
  std::string logged_;  // the last condition logged; empty: attached

  bool closing_ = false;
  bool writes_done_ = false;
  core::Ms close_at_ = 0;
};

Link::Link(LinkOptions options, std::shared_ptr<AgentInbox> inbox)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(inbox))) {}
Link::~Link() = default;
void Link::Handle(const AgentInput& input, core::Ms now, std::vector<core::node::NodeEvent>* out) {
  impl_->Handle(input, now, out);
}
void Link::Tick(core::Ms now, std::vector<core::node::NodeEvent>* out) { impl_->Tick(now, out); }
core::Ms Link::NextDeadline(core::Ms now) const { return impl_->NextDeadline(now); }
void Link::Send(const core::AgentMessage& message, core::Ms now) { impl_->Send(message, now); }
void Link::Consumed() { impl_->Consumed(); }
bool Link::up() const { return impl_->up(); }
std::uint64_t Link::stream() const { return impl_->stream(); }
void Link::Drop(const std::string& why, std::vector<core::node::NodeEvent>* out) {
  impl_->Drop(why, out);
}
void Link::Close(core::Ms now) { impl_->Close(now); }
bool Link::closed() const { return impl_->closed(); }

}  // namespace assay::agent

#include "tests/agent/fake_coordinator.h"

#include <grpcpp/grpcpp.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <set>

#include "fleet.grpc.pb.h"
#include "wire/fleet_wire.h"

namespace assay::agent {

class FakeCoordinator::Service final : public fleet::Fleet::Service {
 public:
  using Wire = grpc::ServerReaderWriter<fleet::CoordinatorMessage, fleet::AgentMessage>;

  explicit Service(int* port) {
    grpc::ServerBuilder builder;
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddListeningPort("127.0.0.1:" + std::to_string(*port),
                             grpc::InsecureServerCredentials(), port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~Service() override {
    Cancel();
    if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
  }
  bool listens() const { return server_ != nullptr; }

  grpc::Status Attach(grpc::ServerContext* context, Wire* wire) override {
    Stream stream{context, wire, grpc::Status::OK, false};
    {
      std::lock_guard lock(mutex_);
      heard_.streams++;
      heard_.open_streams++;
      heard_.order.clear();
      streams_.insert(&stream);
      newest_ = &stream;
    }
    fleet::AgentMessage message;
    while (!stream.refused && wire->Read(&message)) Take(message, &stream);
    std::lock_guard lock(mutex_);
    streams_.erase(&stream);
    if (newest_ == &stream) newest_ = nullptr;
    heard_.open_streams--;
    changed_.notify_all();
    return stream.end;
  }

  bool Say(const fleet::CoordinatorMessage& message) {
    std::lock_guard lock(mutex_);
    return newest_ != nullptr && newest_->wire->Write(message);
  }

  void Cancel() {
    std::lock_guard lock(mutex_);
    for (Stream* stream : streams_) stream->context->TryCancel();
  }

  template <class Change>
  void Set(Change change) {
    std::lock_guard lock(mutex_);
    change(this);
  }

  bool Until(const std::function<bool(const Heard&)>& done) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::milliseconds(kTestWaitMs),
                             [&] { return done(heard_); });
  }

  Heard heard() {
    std::lock_guard lock(mutex_);
    return heard_;
  }

  bool ack = true;
  int refusals = 0;
  std::string refusal;
  core::Ms heartbeat = 1000;

 private:
  struct Stream {
    grpc::ServerContext* context;
    Wire* wire;
    grpc::Status end;
    bool refused;
  };

  void Take(const fleet::AgentMessage& wire, Stream* stream) {
    base::Result<std::optional<core::AgentMessage>> message = wire::FromWire(wire);
    std::lock_guard lock(mutex_);
    if (!message.ok()) {
      heard_.wrong.push_back(message.status().text());
    } else if (!message->has_value()) {
      heard_.heartbeats++;
    } else {
      std::visit([&](auto& body) { On(body, stream); }, **message);
    }
    changed_.notify_all();
  }

  void On(const core::Hello& hello, Stream* stream) {
    heard_.order.push_back("hello");
    heard_.hellos.push_back(hello);
    if (refusals > 0) {
      refusals--;
      stream->end = grpc::Status(grpc::StatusCode::ALREADY_EXISTS, refusal);
      stream->refused = true;
      return;
    }
    stream->wire->Write(wire::ToWire(core::CoordinatorMessage(core::Welcome{heartbeat})));
  }
  void On(const core::Ready& ready, Stream*) {
    heard_.order.push_back("ready");
    heard_.ready.push_back(ready.run);
  }
  void On(const core::Progress& progress, Stream*) {
    heard_.order.push_back("progress");
    heard_.progress.push_back(progress);
  }
  void On(const core::Outcomes& outcomes, Stream* stream) {
    heard_.order.push_back("outcomes");
    core::Ack keys;
    for (const core::OutcomeReport& report : outcomes.reports) {
      const core::OutcomeKey key{report.run, report.rank, report.op};
      heard_.outcomes[key].push_back(report);
      keys.keys.push_back(key);
    }
    if (ack) stream->wire->Write(wire::ToWire(core::CoordinatorMessage(keys)));
  }
  void On(const core::Discarded& discarded, Stream*) {
    heard_.order.push_back("discarded");
    heard_.discarded.push_back(discarded.run);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Heard heard_;
  std::set<Stream*> streams_;
  Stream* newest_ = nullptr;
  std::unique_ptr<grpc::Server> server_;
};

FakeCoordinator::FakeCoordinator(int port)
    : port_(port), service_(std::make_unique<Service>(&port_)) {
  REQUIRE(service_->listens());
}
FakeCoordinator::~FakeCoordinator() = default;

void FakeCoordinator::AckOutcomes(bool ack) {
  service_->Set([ack](Service* service) { service->ack = ack; });
}
void FakeCoordinator::Refuse(int times, const std::string& text) {
  service_->Set([&](Service* service) {
    service->refusals = times;
    service->refusal = text;
  });
}
void FakeCoordinator::Heartbeat(core::Ms heartbeat) {
  service_->Set([heartbeat](Service* service) { service->heartbeat = heartbeat; });
}
bool FakeCoordinator::Say(const core::CoordinatorMessage& message) {
  return service_->Say(wire::ToWire(message));
}
bool FakeCoordinator::Say(const fleet::CoordinatorMessage& message) {
  return service_->Say(message);
}
void FakeCoordinator::EndStreams() { service_->Cancel(); }
bool FakeCoordinator::Until(const std::function<bool(const Heard&)>& done) {
  return service_->Until(done);
}
FakeCoordinator::Heard FakeCoordinator::heard() { return service_->heard(); }

core::OutcomeReport OutcomeOf(const FakeCoordinator::Heard& heard, core::RunId run,
                              std::int32_t rank, core::Op op) {
  INFO("run " << run << " rank " << rank << " op " << Name(op));
  const auto found = heard.outcomes.find({run, rank, op});
  REQUIRE(found != heard.outcomes.end());
  for (const core::OutcomeReport& report : found->second) {
    REQUIRE(report.code == found->second[0].code);
    REQUIRE(report.detail == found->second[0].detail);
  }
  return found->second[0];
}

}  // namespace assay::agent

#include "coordinator/coordinator.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/log.h"
#include "control/control_loop.h"
#include "control/fanout.h"
#include "control/task_thread.h"
#include "coordinator/port_file.h"
#include "jobs_directory/jobs_directory.h"
#include "rpc/acceptor.h"
#include "rpc/admin/reads.h"
#include "rpc/admin/service.h"
#include "rpc/bytes.h"
#include "rpc/fleet_service.h"
#include "rpc/gate.h"
#include "rpc/job_service.h"
#include "rpc/listen_address.h"
#include "rpc/recover_service.h"
#include "store/store_storage.h"
#include "wire/grpc_log.h"

namespace assay::coordinator {
namespace {

constexpr int kReflectionThreads = 16;
constexpr core::Ms kIdleTimeoutMin = 20'000;
constexpr core::Ms kIdleTimeoutMax = 86'400'000;
constexpr auto kStopGrace = std::chrono::seconds(2);

int FanoutWorkers(int wanted) {
  if (wanted > 0) return std::min(wanted, 64);
  const int processors = static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(processors / 2, 1, 4);
}

// docs/wire.md 1 and 9: clients ping every 3 s, some from timers that jitter.
//
// The server pings after half of the idle timeout (60 s of 120 s). The answer must arrive within
// the other half, less a margin for timers and the network: 10 s, or a quarter of that half if that
// is less. gRPC uses answer_ms as TCP user timeout too: a client may pause reading that long, which
// is more than a quarter of the idle timeout.
struct Keepalive {
  explicit Keepalive(core::Ms idle_timeout)
      : ping_ms(static_cast<int>(idle_timeout / 2)),
        answer_ms(ping_ms - std::min(10'000, ping_ms / 4)) {}
  const int ping_ms;
  const int answer_ms;
};

void SetTransport(grpc::ServerBuilder* builder, const CoordinatorOptions& options) {
  const Keepalive keepalive(options.idle_timeout);
  builder->SetMaxReceiveMessageSize(static_cast<int>(rpc::kRequestBytesMax));
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, keepalive.ping_ms);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, keepalive.answer_ms);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 900);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // Higher than Assay's own limit, which answers with an error; at gRPC's limit clients would wait
  // without one.
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                              static_cast<int>(options.limits.streams_max + 1000));
  // Only reflection uses the synchronous server's threads.
  builder->SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder->SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
  builder->SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 2);
  grpc::ResourceQuota quota("coordinator");
  quota.SetMaxThreads(kReflectionThreads);
  builder->SetResourceQuota(quota);
}

}  // namespace

class Coordinator::Impl {
 public:
  explicit Impl(CoordinatorOptions options)
      : options_(std::move(options)), intake_(options_.limits) {}
  ~Impl() { (void)Stop(); }

  base::Status Start();
  base::Status Stop();
  std::string address() const { return address_.Text(); }

 private:
  base::Status CheckOptions();
  base::Status CheckAddress();
  base::Status OpenStore();
  base::Status StartThreads();
  base::Status Serve();
  void SetServing(bool serving);

  const CoordinatorOptions options_;
  rpc::ListenAddress address_;

  // In the order of their start; Stop ends them in its own order.
  std::unique_ptr<store::Store> store_;            // owned by the loop's thread while that runs
  std::unique_ptr<store::Storage> storage_;        // the store or its wrapper; used by the loop
  std::unique_ptr<rpc::admin::AdminReads> reads_;  // owned by the reader's thread while that runs
  control::Intake intake_;
  const std::unique_ptr<control::Encoder> encoder_ = rpc::MakeEncoder();
  control::Fanout fanout_{encoder_.get()};
  control::TaskThread parser_;
  control::TaskThread reader_;
  const rpc::Gate gate_{&intake_, &reader_};
  std::optional<control::ControlLoop> loop_;
  std::vector<std::unique_ptr<grpc::Service>> services_;
  std::unique_ptr<rpc::Acceptor> acceptor_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> connections_;
  std::unique_ptr<grpc::Server> server_;
  std::optional<jobs_directory::JobsDirectory> jobs_directory_;
  std::atomic<grpc::HealthCheckServiceInterface*> health_{nullptr};
  std::atomic<bool> serving_{true};
  bool stopped_ = false;
};

base::Status Coordinator::Impl::Start() {
  wire::QuietGrpc();
  for (const auto step : {&Impl::CheckOptions, &Impl::CheckAddress, &Impl::OpenStore,
                          &Impl::StartThreads, &Impl::Serve}) {
    if (base::Status status = (this->*step)(); !status.ok()) return status;
  }
  if (!options_.jobs_dir.empty()) {
    jobs_directory_.emplace(options_.jobs_dir, &intake_);
    if (base::Status status = jobs_directory_->Start(); !status.ok()) return status;
  }
  if (options_.port_file.empty()) return base::Status::Ok();
  return WritePortFile(options_.port_file, address());
}

base::Status Coordinator::Impl::CheckOptions() {
  if (options_.idle_timeout < kIdleTimeoutMin || options_.idle_timeout > kIdleTimeoutMax) {
    return base::InvalidError("--idle-timeout=" + base::Seconds(options_.idle_timeout) +
                              " is not between " + base::Seconds(kIdleTimeoutMin) + " and " +
                              base::Seconds(kIdleTimeoutMax));
  }
  if (options_.subscriber_buffer == 0)
    return base::InvalidError("--subscriber-buffer must not be 0");
  return base::Status::Ok();
}

base::Status Coordinator::Impl::CheckAddress() {
  base::Result<rpc::ListenAddress> address = rpc::ParseListenAddress(options_.listen);
  if (!address.ok()) return address.status();
  address_ = *address;
  if (address_.loopback || options_.insecure) return base::Status::Ok();
  return base::InvalidError(
      "--listen=" + address_.Text() +
      " is reachable from other machines, and connections are not encrypted or authenticated yet: "
      "any client that reaches it can stop trainings. Listen on 127.0.0.1, or add --insecure if "
      "the network is protected");
}

base::Status Coordinator::Impl::OpenStore() {
  base::Result<std::unique_ptr<store::Store>> store = store::Store::Open(options_.db);
  if (!store.ok()) return store.status();
  store_ = std::move(*store);
  storage_ = std::make_unique<store::StoreStorage>(store_.get());
  base::Result<std::unique_ptr<rpc::admin::AdminReads>> reads =
      rpc::admin::AdminReads::Open(options_.db);
  if (!reads.ok()) return reads.status();
  reads_ = std::move(*reads);
  if (options_.wrap_storage) storage_ = options_.wrap_storage(std::move(storage_));
  // Remove a previous process's port file: no server listens at that address any more.
  if (!options_.port_file.empty()) unlink(options_.port_file.c_str());
  return base::Status::Ok();
}

base::Status Coordinator::Impl::StartThreads() {
  if (base::Status status = fanout_.Start(FanoutWorkers(options_.fanout_workers)); !status.ok()) {
    return status;
  }
  if (base::Status status = parser_.Start("parser"); !status.ok()) return status;
  if (base::Status status = reader_.Start("reader"); !status.ok()) return status;
  loop_.emplace(options_.settings, &intake_, &fanout_, storage_.get(),
                [this](bool serving) { SetServing(serving); });
  if (base::Status status = loop_->Load(); !status.ok()) return status;
  return loop_->Start();
}

// The loop may call this before the server exists; Serve then reads serving_.
void Coordinator::Impl::SetServing(bool serving) {
  serving_.store(serving);
  grpc::HealthCheckServiceInterface* const health = health_.load();
  if (health != nullptr) health->SetServingStatus(serving);
}

base::Status Coordinator::Impl::Serve() {
  grpc::EnableDefaultHealthCheckService(true);
  // A static link drops the plugin's self-registration.
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  services_.push_back(rpc::MakeRecoverService(&gate_, &parser_));
  services_.push_back(
      rpc::MakeJobService(&gate_, &parser_, &fanout_.board(), options_.subscriber_buffer));
  services_.push_back(rpc::MakeFleetService(&gate_, &parser_));
  services_.push_back(MakeAdminService(&gate_, &parser_, &reader_, reads_.get()));
  base::Result<std::unique_ptr<rpc::Acceptor>> acceptor = rpc::Acceptor::Listen(address_);
  if (!acceptor.ok()) return acceptor.status();
  acceptor_ = std::move(*acceptor);
  grpc::ServerBuilder builder;
  SetTransport(&builder, options_);
  connections_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      grpc::InsecureServerCredentials());
  for (const std::unique_ptr<grpc::Service>& service : services_) {
    builder.RegisterService(service.get());
  }
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) return base::InternalError("the gRPC server does not start");
  address_.port = acceptor_->port();
  const auto connected = [this](const rpc::Acceptor::Connection& connection) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
    parameters.fd = connection.fd;
    parameters.listener_fd = connection.listener;
    connections_->HandleNewConnection(&parameters);
  };
  const Keepalive keepalive(options_.idle_timeout);
  if (base::Status status = acceptor_->Start(keepalive.answer_ms, connected); !status.ok()) {
    return status;
  }
  grpc::HealthCheckServiceInterface* const health = server_->GetHealthCheckService();
  health_.store(health);
  bool said = false;
  do {
    said = serving_.load();
    health->SetServingStatus(said);
  } while (serving_.load() != said);
  return base::Status::Ok();
}

base::Status Coordinator::Impl::Stop() {
  if (std::exchange(stopped_, true)) return base::Status::Ok();
  if (jobs_directory_.has_value()) jobs_directory_->Stop();
  intake_.BeginStop();
  if (server_ != nullptr) {
    if (!options_.port_file.empty()) unlink(options_.port_file.c_str());
    acceptor_->Stop();
    server_->Shutdown(std::chrono::system_clock::now() + kStopGrace);
    // gRPC has finished every call; the last reactors may still be in OnDone.
    while (intake_.live_count() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  jobs_directory_.reset();
  parser_.Stop();
  reader_.Stop();
  intake_.mailbox().Close();
  if (loop_.has_value()) loop_->Join();
  fanout_.Stop();
  health_.store(nullptr);
  server_.reset();
  services_.clear();
  loop_.reset();
  reads_.reset();
  storage_.reset();
  return store_ == nullptr ? base::Status::Ok() : store_->Close();
}

// --- Coordinator ---

base::Result<std::unique_ptr<Coordinator>> Coordinator::Start(CoordinatorOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  if (base::Status status = impl->Start(); !status.ok()) return status;
  return std::unique_ptr<Coordinator>(new Coordinator(std::move(impl)));
}

Coordinator::Coordinator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Coordinator::~Coordinator() = default;
std::string Coordinator::address() const { return impl_->address(); }
base::Status Coordinator::Stop() { return impl_->Stop(); }

}  // namespace assay::coordinator

#include "tests/coordinator/harness.h"

#include <catch2/catch.hpp>

namespace assay::coordinator {
namespace {

// Commits like the real store until *broken is true, then fails.
class FragileStorage final : public store::Storage {
 public:
  FragileStorage(std::unique_ptr<store::Storage> real, const std::atomic<bool>* broken)
      : real_(std::move(real)), broken_(*broken) {}
  assay::base::Status Commit(const std::vector<core::Record>& records) override {
    if (broken_) return base::UnavailableError("/data/assay.db: no space left on the device");
    return real_->Commit(records);
  }
  assay::base::Result<core::Durable> Load() override { return real_->Load(); }
  void Idle() override { real_->Idle(); }

 private:
  const std::unique_ptr<store::Storage> real_;
  const std::atomic<bool>& broken_;
};

class LoggedStorage final : public store::Storage {
 public:
  LoggedStorage(std::unique_ptr<store::Storage> real, EventLog* log)
      : real_(std::move(real)), log_(*log) {}
  assay::base::Status Commit(const std::vector<core::Record>& records) override {
    log_.Add(records);
    return real_->Commit(records);
  }
  assay::base::Result<core::Durable> Load() override { return real_->Load(); }
  void Idle() override { real_->Idle(); }

 private:
  const std::unique_ptr<store::Storage> real_;
  EventLog& log_;
};

}  // namespace

void EventLog::Add(const std::vector<core::Record>& records) {
  const std::lock_guard lock(mutex_);
  for (const core::Record& record : records) {
    if (const auto* event = std::get_if<core::AddEvent>(&record)) {
      texts_.emplace(event->kind, event->text);
    }
  }
}

std::vector<std::string> EventLog::Texts(const std::string& kind) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> texts;
  const auto [first, last] = texts_.equal_range(kind);
  for (auto it = first; it != last; ++it) texts.push_back(it->second);
  return texts;
}

void LogEvents(CoordinatorOptions* options, EventLog* log) {
  options->wrap_storage = [log](std::unique_ptr<store::Storage> real) {
    return std::make_unique<LoggedStorage>(std::move(real), log);
  };
}

void BreakOnDemand(CoordinatorOptions* options, const std::atomic<bool>* broken) {
  options->wrap_storage = [broken](std::unique_ptr<store::Storage> real) {
    return std::make_unique<FragileStorage>(std::move(real), broken);
  };
}

bool Eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

CoordinatorOptions QuickOptions(const support::TempDir& dir) {
  CoordinatorOptions options;
  options.listen = "127.0.0.1:0";
  options.db = dir / "assay.db";
  options.port_file = dir / "port";
  options.settings.reply_quiet = 0;
  options.fanout_workers = 2;
  return options;
}

Bed::Bed() : options_(QuickOptions(dir_)) { Start(); }

Bed::Bed(const std::function<void(CoordinatorOptions*)>& change) : options_(QuickOptions(dir_)) {
  change(&options_);
  Start();
}

void Bed::Start() {
  auto coordinator = Coordinator::Start(options_);
  INFO(coordinator.status().text());
  REQUIRE(coordinator.ok());
  coordinator_ = std::move(*coordinator);
}

void Bed::Restart() {
  const base::Status stopped = coordinator_->Stop();
  INFO(stopped.text());
  REQUIRE(stopped.ok());
  coordinator_.reset();
  Start();
}

Client::Client(const std::string& address, int lookahead) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetMaxReceiveMessageSize(-1);
  if (lookahead != 0) {
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, lookahead);
  }
  channel = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  recover = Recover::NewStub(channel);
  admin = admin::Admin::NewStub(channel);
  fleet = fleet::Fleet::NewStub(channel);
  jobs = job::Job::NewStub(channel);
}

std::unique_ptr<grpc::ClientContext> Client::Context() {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() + kPatience);
  return context;
}

grpc::Status Client::Apply(const std::string& job, const std::string& table,
                           admin::ApplyJobResponse* response) {
  admin::ApplyJobRequest request;
  request.set_id(job);
  request.set_rank_table(table);
  request.set_source("table.json");
  admin::ApplyJobResponse ignored;
  return admin->ApplyJob(Context().get(), request, response != nullptr ? response : &ignored);
}

grpc::Status Client::SetState(const std::string& job, const std::string& state) {
  admin::SetJobStateRequest request;
  request.set_id(job);
  request.set_state(state);
  admin::SetJobStateResponse response;
  return admin->SetJobState(Context().get(), request, &response);
}

grpc::Status Client::Delete(const std::string& job) {
  admin::DeleteJobRequest request;
  request.set_id(job);
  admin::DeleteJobResponse response;
  return admin->DeleteJob(Context().get(), request, &response);
}

grpc::Status Client::Stress(const std::string& job,
                            const std::map<std::string, std::vector<int>>& nodes,
                            ::Status* answer) {
  StressTestParam param;
  param.set_jobid(job);
  for (const auto& [node, ops] : nodes) {
    StressOpList& list = (*param.mutable_stressparam())[node];
    for (int op : ops) list.add_ops(op);
  }
  return recover->StressTest(Context().get(), param, answer);
}

::Status Client::StressWhenReady(const std::string& job,
                                 const std::map<std::string, std::vector<int>>& nodes) {
  ::Status answer;
  Eventually([&] {
    answer.Clear();
    const grpc::Status status = Stress(job, nodes, &answer);
    return status.ok() && answer.code() != 404;
  });
  return answer;
}

::Status Client::Reply(const std::string& job, const StressTestRankParams& asked,
                       const std::string& code, const std::string& text) {
  StressTestResult result;
  result.set_jobid(job);
  for (const auto& [rank, list] : asked.stressparam()) {
    for (std::int64_t op : list.ops()) {
      StressTestOpResult& one =
          (*(*result.mutable_stressresult())[rank].mutable_rankresult())[std::to_string(op)];
      one.set_code(code);
      one.set_result(text);
    }
  }
  ::Status answer;
  const grpc::Status status = recover->ReplyStressTestResult(Context().get(), result, &answer);
  INFO(status.error_message());
  REQUIRE(status.ok());
  return answer;
}

std::string Table(int nodes, int devices) {
  std::string servers;
  int rank = 0;
  for (int n = 0; n < nodes; ++n) {
    std::string list;
    for (int d = 0; d < devices; ++d, ++rank) {
      list += std::string(d == 0 ? "" : ",") + R"({"device_id":")" + std::to_string(d) +
              R"(","device_ip":"192.168.)" + std::to_string(n) + "." + std::to_string(d + 1) +
              R"(","rank_id":")" + std::to_string(rank) + R"("})";
    }
    servers += std::string(n == 0 ? "" : ",") + R"({"server_id":"10.0.0.)" + std::to_string(n + 1) +
               R"(","server_name":"node-)" + std::to_string(n) + R"(","device":[)" + list + "]}";
  }
  return R"({"status":"completed","version":"1.0","server_count":")" + std::to_string(nodes) +
         R"(","server_list":[)" + servers + "]}";
}

Notified::Notified(Client* client, const std::string& job) {
  ClientInfo info;
  info.set_jobid(job);
  info.set_role("taskd");
  reader_ = client->recover->SubscribeNotifyExecStressTest(context_.get(), info);
  reader_->WaitForInitialMetadata();
}

Notified::~Notified() {
  context_->TryCancel();
  (void)Finish();
}

grpc::Status Notified::Finish() {
  if (std::exchange(finished_, true)) return grpc::Status::OK;
  StressTestRankParams params;
  while (reader_->Read(&params)) {
  }
  return reader_->Finish();
}

Result::Result(Client* client, const std::string& job) {
  StressTestRequest request;
  request.set_jobid(job);
  reader_ = client->recover->SubscribeStressTestResponse(context_.get(), request);
}

Result::~Result() {
  context_->TryCancel();
  if (!finished_) (void)Wait();
}

Result::Got Result::Wait() {
  Got got;
  StressTestResponse response;
  while (reader_->Read(&response)) {
    ++got.messages;
    got.msg = response.msg();
  }
  const auto& metadata = context_->GetServerInitialMetadata();
  const auto run = metadata.find("assay-run");
  if (run != metadata.end()) got.run = std::string(run->second.data(), run->second.size());
  got.status = reader_->Finish();
  finished_ = true;
  return got;
}

}  // namespace assay::coordinator

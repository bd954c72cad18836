// A real coordinator on a free loopback port with a real store in its own directory, and the
// clients that tests need. Waits time out after kPatience; no test asserts anything about time.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "admin.grpc.pb.h"
#include "coordinator/coordinator.h"
#include "fleet.grpc.pb.h"
#include "job.grpc.pb.h"
#include "recover.grpc.pb.h"
#include "tests/support/temp_dir.h"

namespace assay::coordinator {

inline constexpr auto kPatience = std::chrono::seconds(20);

bool Eventually(const std::function<bool()>& condition);

// Options with short waits where the defaults are deliberately long.
CoordinatorOptions QuickOptions(const support::TempDir& dir);

// Makes the store's commits fail while *broken is true. *broken outlives the coordinator.
void BreakOnDemand(CoordinatorOptions* options, const std::atomic<bool>* broken);

// The texts of the rows that the coordinator added to the table `events`, by kind.
class EventLog {
 public:
  void Add(const std::vector<core::Record>& records);
  std::vector<std::string> Texts(const std::string& kind) const;

 private:
  mutable std::mutex mutex_;
  std::multimap<std::string, std::string> texts_;
};

// Adds the events of every commit to *log, which outlives the coordinator.
void LogEvents(CoordinatorOptions* options, EventLog* log);

class Bed {
 public:
  Bed();
  explicit Bed(const std::function<void(CoordinatorOptions*)>& change);

  Coordinator& coordinator() { return *coordinator_; }
  std::string address() const { return coordinator_->address(); }
  const support::TempDir& dir() const { return dir_; }
  // Restarts the coordinator on the same files; the port may differ.
  void Restart();

 private:
  void Start();
  support::TempDir dir_;
  CoordinatorOptions options_;
  std::unique_ptr<Coordinator> coordinator_;
};

// The clients of one connection. Every call has a deadline of kPatience.
class Client {
 public:
  // lookahead: bytes of a stream that the connection buffers without a pending read; 0: gRPC's
  // default, which is megabytes.
  explicit Client(const std::string& address, int lookahead = 0);
  explicit Client(const Bed& bed, int lookahead = 0) : Client(bed.address(), lookahead) {}

  static std::unique_ptr<grpc::ClientContext> Context();

  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<Recover::Stub> recover;
  std::unique_ptr<admin::Admin::Stub> admin;
  std::unique_ptr<fleet::Fleet::Stub> fleet;
  std::unique_ptr<job::Job::Stub> jobs;

  // --- Calls of an operator ---
  grpc::Status Apply(const std::string& job, const std::string& table,
                     admin::ApplyJobResponse* response = nullptr);
  grpc::Status SetState(const std::string& job, const std::string& state);
  grpc::Status Delete(const std::string& job);

  // --- Calls of a platform and of a training agent ---
  grpc::Status Stress(const std::string& job, const std::map<std::string, std::vector<int>>& nodes,
                      ::Status* answer);
  // Retries while no executor is attached (404).
  ::Status StressWhenReady(const std::string& job,
                           const std::map<std::string, std::vector<int>>& nodes);
  // A training agent's reply: the same outcome for every rank and op.
  ::Status Reply(const std::string& job, const StressTestRankParams& asked, const std::string& code,
                 const std::string& text);
};

// A rank table of nodes "node-0" ... with devices 0 ... each, and consecutive ranks.
std::string Table(int nodes, int devices);

// A SubscribeNotifyExecStressTest stream. The constructor returns once it is subscribed.
class Notified {
 public:
  Notified(Client* client, const std::string& job);
  ~Notified();
  bool Next(StressTestRankParams* params) { return reader_->Read(params); }
  void Cancel() { context_->TryCancel(); }
  grpc::Status Finish();

 private:
  std::unique_ptr<grpc::ClientContext> context_ = Client::Context();
  std::unique_ptr<grpc::ClientReader<StressTestRankParams>> reader_;
  bool finished_ = false;
};

// A SubscribeStressTestResponse stream.
class Result {
 public:
  Result(Client* client, const std::string& job);
  ~Result();
  // The stream's one message and its end.
  struct Got {
    int messages = 0;
    std::string msg;
    std::string run;  // from the metadata `assay-run`
    grpc::Status status;
  };
  Got Wait();
  void Cancel() { context_->TryCancel(); }

 private:
  std::unique_ptr<grpc::ClientContext> context_ = Client::Context();
  std::unique_ptr<grpc::ClientReader<StressTestResponse>> reader_;
  bool finished_ = false;
};

}  // namespace assay::coordinator

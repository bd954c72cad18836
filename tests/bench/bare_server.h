// The ceiling for fan-out: a gRPC callback server that does nothing but write one pre-serialised
// message to every subscriber when it is called.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "recover.grpc.pb.h"
#include "tests/bench/speed_client.h"

namespace assay::bench {

inline StressTestRankParams Notification(const std::string& job, int ranks) {
  StressTestRankParams params;
  params.set_jobid(job);
  for (int rank = 0; rank < ranks; ++rank) {
    StressOpList& list = (*params.mutable_stressparam())[std::to_string(rank)];
    list.add_ops(0);
    list.add_ops(1);
  }
  return params;
}

inline std::string JobOf(int ranks) { return "job-" + std::to_string(ranks); }

using BareBase =
    Recover::WithRawCallbackMethod_StressTest<Recover::WithRawCallbackMethod_ReplyStressTestResult<
        Recover::WithRawCallbackMethod_SubscribeNotifyExecStressTest<Recover::Service>>>;

class BareService final : public BareBase {
 public:
  explicit BareService(const ByteBuffer& message) : message_(message) {
    ::Status ok;
    ok.set_info("stress test operation was successfully distributed");
    ok_ = BytesOf(ok);
  }

  grpc::ServerUnaryReactor* StressTest(grpc::CallbackServerContext* context, const ByteBuffer*,
                                       ByteBuffer* response) override {
    grpc::ServerUnaryReactor* const reactor = Answer(context, response);
    const std::lock_guard<std::mutex> lock(mutex_);
    for (Stream* stream : streams_) stream->Send();
    return reactor;
  }
  grpc::ServerUnaryReactor* ReplyStressTestResult(grpc::CallbackServerContext* context,
                                                  const ByteBuffer*,
                                                  ByteBuffer* response) override {
    return Answer(context, response);
  }
  grpc::ServerWriteReactor<ByteBuffer>* SubscribeNotifyExecStressTest(grpc::CallbackServerContext*,
                                                                      const ByteBuffer*) override {
    return new Stream(this);
  }

 private:
  class Stream final : public grpc::ServerWriteReactor<ByteBuffer> {
   public:
    explicit Stream(BareService* service) : service_(service) {
      const std::lock_guard<std::mutex> lock(service->mutex_);
      service->streams_.insert(this);
      StartSendInitialMetadata();
    }
    void Send() {
      if (owed_.fetch_add(1) == 0) StartWrite(&service_->message_);
    }

   private:
    void OnWriteDone(bool ok) override {
      if (ok && owed_.fetch_sub(1) > 1) StartWrite(&service_->message_);
    }
    void OnCancel() override {
      {
        const std::lock_guard<std::mutex> lock(service_->mutex_);
        service_->streams_.erase(this);
      }
      Finish(grpc::Status::CANCELLED);
    }
    void OnDone() override { delete this; }

    BareService* const service_;
    std::atomic<int> owed_{0};
  };

  grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context, ByteBuffer* response) {
    *response = ok_;
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  const ByteBuffer message_;
  ByteBuffer ok_;
  std::mutex mutex_;
  std::set<Stream*> streams_;
};

// Until standard input ends.
inline int Serve(int ranks) {
  BareService service(BytesOf(Notification(JobOf(ranks), ranks)));
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) Fail("the bare server cannot listen");
  std::printf("127.0.0.1:%d\n", port);
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  server->Shutdown(std::chrono::system_clock::now());
  return 0;
}

}  // namespace assay::bench

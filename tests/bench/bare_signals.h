// The ceiling for job signals: a gRPC callback server that writes the same message so many times to
// every subscriber, each as soon as the last one is written, when somebody registers.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "job.grpc.pb.h"
#include "tests/bench/speed_client.h"

namespace assay::bench {

using BareJobBase = job::Job::WithRawCallbackMethod_Register<
    job::Job::WithRawCallbackMethod_SubscribeJobSummarySignal<job::Job::Service>>;

class BareJobService final : public BareJobBase {
 public:
  BareJobService(const ByteBuffer& message, int times) : message_(message), times_(times) {
    job::Status ok;
    ok.set_code(200);
    ok_ = BytesOf(ok);
  }

  grpc::ServerUnaryReactor* Register(grpc::CallbackServerContext* context, const ByteBuffer*,
                                     ByteBuffer* response) override {
    *response = ok_;
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    const std::lock_guard<std::mutex> lock(mutex_);
    for (Stream* stream : streams_) stream->Send(times_);
    return reactor;
  }
  grpc::ServerWriteReactor<ByteBuffer>* SubscribeJobSummarySignal(grpc::CallbackServerContext*,
                                                                  const ByteBuffer*) override {
    return new Stream(this);
  }

 private:
  class Stream final : public grpc::ServerWriteReactor<ByteBuffer> {
   public:
    explicit Stream(BareJobService* service) : service_(service) {
      const std::lock_guard<std::mutex> lock(service->mutex_);
      service->streams_.insert(this);
      StartSendInitialMetadata();
    }
    void Send(int times) {
      if (owed_.fetch_add(times) == 0) StartWrite(&service_->message_);
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

    BareJobService* const service_;
    std::atomic<int> owed_{0};
  };

  const ByteBuffer message_;
  const int times_;
  ByteBuffer ok_;
  std::mutex mutex_;
  std::set<Stream*> streams_;
};

// Until standard input ends.
inline int ServeSignals(int times, std::size_t table_bytes) {
  job::JobSummarySignal signal;
  signal.set_uuid("f81d4fae-7dec-41d0-a765-00a0c91e6bf6");
  signal.set_jobid("job-100");
  signal.set_jobstatus("running");
  signal.set_time("1700000000");
  signal.set_cmindex("0");
  signal.set_total("1");
  signal.set_operator_("add");
  signal.set_hccljson(std::string(table_bytes, 'x'));
  BareJobService service(BytesOf(signal), times);
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

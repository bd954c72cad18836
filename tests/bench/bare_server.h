// The ceiling for fan-out: a gRPC callback server that writes one pre-serialised message to every
// subscriber at each StressTest call, and does nothing else.
#pragma once

#include <grpcpp/grpcpp.h>

#include <string>

#include "recover.grpc.pb.h"
#include "tests/bench/bare_streams.h"
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
  explicit BareService(const ByteBuffer& message) : streams_(message) {
    ::Status ok;
    ok.set_info("stress test operation was successfully distributed");
    ok_ = BytesOf(ok);
  }

  grpc::ServerUnaryReactor* StressTest(grpc::CallbackServerContext* context, const ByteBuffer*,
                                       ByteBuffer* response) override {
    grpc::ServerUnaryReactor* const reactor = Answer(context, response);
    streams_.Send(1);
    return reactor;
  }
  grpc::ServerUnaryReactor* ReplyStressTestResult(grpc::CallbackServerContext* context,
                                                  const ByteBuffer*,
                                                  ByteBuffer* response) override {
    return Answer(context, response);
  }
  grpc::ServerWriteReactor<ByteBuffer>* SubscribeNotifyExecStressTest(grpc::CallbackServerContext*,
                                                                      const ByteBuffer*) override {
    return streams_.Open();
  }

 private:
  grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context, ByteBuffer* response) {
    *response = ok_;
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  BareStreams streams_;
  ByteBuffer ok_;
};

// Serves until standard input ends.
inline int Serve(int ranks) {
  BareService service(BytesOf(Notification(JobOf(ranks), ranks)));
  return ServeAlone(&service);
}

}  // namespace assay::bench

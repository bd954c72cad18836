// The ceiling for job signals: a gRPC callback server that, at each Register call, writes the same
// message `times` times to every subscriber, each as soon as the previous write is done.
#pragma once

#include <grpcpp/grpcpp.h>

#include <string>

#include "job.grpc.pb.h"
#include "tests/bench/bare_streams.h"
#include "tests/bench/speed_client.h"

namespace assay::bench {

using BareJobBase = job::Job::WithRawCallbackMethod_Register<
    job::Job::WithRawCallbackMethod_SubscribeJobSummarySignal<job::Job::Service>>;

class BareJobService final : public BareJobBase {
 public:
  BareJobService(const ByteBuffer& message, int times) : streams_(message), times_(times) {
    job::Status ok;
    ok.set_code(200);
    ok_ = BytesOf(ok);
  }

  grpc::ServerUnaryReactor* Register(grpc::CallbackServerContext* context, const ByteBuffer*,
                                     ByteBuffer* response) override {
    *response = ok_;
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    streams_.Send(times_);
    return reactor;
  }
  grpc::ServerWriteReactor<ByteBuffer>* SubscribeJobSummarySignal(grpc::CallbackServerContext*,
                                                                  const ByteBuffer*) override {
    return streams_.Open();
  }

 private:
  BareStreams streams_;
  const int times_;
  ByteBuffer ok_;
};

// Serves until standard input ends.
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
  return ServeAlone(&service);
}

}  // namespace assay::bench

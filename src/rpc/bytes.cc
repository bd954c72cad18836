#include "rpc/bytes.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/slice.h>

#include <cstdint>
#include <string>
#include <vector>

#include "recover.pb.h"
#include "rpc/job_bytes.h"

namespace assay::rpc {
namespace {

class WireEncoder final : public control::Encoder {
 public:
  control::Bytes Notify(const std::string& job,
                        const std::vector<core::RankOps>& ranks) const override {
    StressTestRankParams params;
    params.set_jobid(job);
    for (const core::RankOps& rank : ranks) {
      StressOpList& list = (*params.mutable_stressparam())[std::to_string(rank.rank)];
      for (const core::Op op : rank.ops) list.add_ops(static_cast<std::int64_t>(op));
    }
    return SharedBytes(params);
  }

  control::Bytes Result(const std::string& job, const std::string& message) const override {
    StressTestResponse response;
    response.set_jobid(job);
    response.set_msg(message);
    return SharedBytes(response);
  }

  control::EncodedMessage JobSignal(const core::Signal& signal,
                                    const std::string& uuid) const override {
    return EncodeJobSignal(signal, uuid);
  }
  control::EncodedMessage JobSignalList(const std::vector<control::EncodedMessage>& signals,
                                        core::Ms report_time, std::size_t total) const override {
    return EncodeJobSignalList(signals, report_time, total);
  }
};

}  // namespace

std::unique_ptr<control::Encoder> MakeEncoder() { return std::make_unique<WireEncoder>(); }

base::Status ParseBytes(const grpc::ByteBuffer& bytes, google::protobuf::MessageLite* message) {
  // A call without a message has no buffer.
  bool parsed = bytes.Valid();
  if (parsed) {
    grpc::ByteBuffer readable(bytes);  // shares the bytes; the reader needs a mutable object
    grpc::ProtoBufferReader reader(&readable);
    parsed = reader.status().ok() && message->ParseFromZeroCopyStream(&reader);
  }
  if (parsed) return base::Status::Ok();
  return base::InvalidError("the message is not a valid " + message->GetTypeName() +
                            " (damaged, or a text in it is not UTF-8)");
}

grpc::ByteBuffer Serialise(const google::protobuf::MessageLite& message) {
  grpc::Slice slice(message.ByteSizeLong());
  // The slice is new and not shared yet, so writing into it is safe.
  message.SerializeWithCachedSizesToArray(const_cast<std::uint8_t*>(slice.begin()));
  return {&slice, 1};
}

}  // namespace assay::rpc

#include "rpc/job_bytes.h"

#include <google/protobuf/io/coded_stream.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>

#include "job.pb.h"
#include "rank_table/hccl_json.h"

namespace assay::rpc {
namespace {

// A job's message must also fit as the only one of a list.
constexpr std::size_t kSignalBytesMax =
    control::kMessageBytesMax - control::Encoder::kListBytesOnce - control::Encoder::kListBytesEach;
// Shorter tables are cheaper to copy than to refer to.
constexpr std::size_t kSharedTableBytes = 4096;

// A field's header: tag and length.
grpc::Slice Header(int field, std::size_t length) {
  using google::protobuf::io::CodedOutputStream;
  constexpr int kLengthDelimited = 2;
  std::uint8_t bytes[2 * 5];
  std::uint8_t* end = CodedOutputStream::WriteVarint32ToArray(
      static_cast<std::uint32_t>(field << 3 | kLengthDelimited), bytes);
  end = CodedOutputStream::WriteVarint32ToArray(static_cast<std::uint32_t>(length), end);
  return {bytes, static_cast<std::size_t>(end - bytes)};
}

// A slice that refers to the text and owns a reference to it.
grpc::Slice Shared(const std::shared_ptr<const std::string>& text) {
  using Keeper = std::shared_ptr<const std::string>;
  // gRPC only reads the text.
  return {const_cast<char*>(text->data()), text->size(),
          [](void* keeper) { delete static_cast<Keeper*>(keeper); }, new Keeper(text)};
}

control::EncodedMessage Message(const std::vector<grpc::Slice>& slices) {
  control::EncodedMessage message;
  message.bytes = std::make_shared<const grpc::ByteBuffer>(slices.data(), slices.size());
  message.size = message.bytes->Length();
  return message;
}

std::string SecondsText(core::Ms time) { return std::to_string(time / 1000); }

bool HasEnded(const core::Signal& signal) {
  return signal.deleted || signal.state == core::JobState::kComplete ||
         signal.state == core::JobState::kFailed;
}

// ClusterD's FdAgent keys jobs by namespace and name, so a job without a name gets one.
const std::string& NameOf(const core::Signal& signal) {
  return signal.job.name.empty() ? signal.job.id : signal.job.name;
}

// ClusterD sets the status to failed when it deletes a job that is not complete.
core::JobState StateOf(const core::Signal& signal) {
  if (!signal.deleted || signal.state == core::JobState::kComplete) return signal.state;
  return core::JobState::kFailed;
}

// The rank table to send, or null for the fixed text of a table that is not ready. FdAgent parses
// HcclJson of every signal and skips the signal if it cannot: with an empty text, a job whose end
// is reported would live on there (docs/wire.md 10). A pending job has no table for others to use.
const std::shared_ptr<const std::string>* TableOf(const core::Signal& signal) {
  const bool pending = !signal.deleted && signal.state == core::JobState::kPending;
  if (pending || (HasEnded(signal) && signal.hccl->empty())) return nullptr;
  return &signal.hccl;
}

// The fields before HcclJson. Their bytes, then HcclJson's, then those of FieldsAfter form the
// message.
job::JobSummarySignal FieldsBefore(const core::Signal& signal, const std::string& uuid) {
  job::JobSummarySignal fields;
  fields.set_uuid(uuid);
  fields.set_jobid(signal.job.id);
  fields.set_jobname(NameOf(signal));
  fields.set_namespace_(signal.job.name_space);
  fields.set_framework(signal.job.framework);
  fields.set_jobstatus(std::string(Name(StateOf(signal))));
  fields.set_time(SecondsText(signal.created));
  fields.set_cmindex("0");
  fields.set_total("1");
  return fields;
}

job::JobSummarySignal FieldsAfter(const core::Signal& signal) {
  job::JobSummarySignal fields;
  if (HasEnded(signal) && signal.ended != 0) fields.set_deletetime(SecondsText(signal.ended));
  if (signal.job.framework == "pytorch" || signal.job.framework.empty()) {
    fields.set_sharedtorip(signal.job.shared_tor_ip);
    fields.set_masteraddr(signal.job.master_addr);
  }
  fields.set_operator_(signal.deleted ? "delete" : "add");
  return fields;
}

}  // namespace

control::EncodedMessage EncodeJobSignal(const core::Signal& signal, const std::string& uuid) {
  const std::string before = FieldsBefore(signal, uuid).SerializeAsString();
  const std::string after = FieldsAfter(signal).SerializeAsString();
  const std::shared_ptr<const std::string>* const shared = TableOf(signal);
  std::string_view table = rank_table::kHcclInitializing;
  if (shared != nullptr) table = **shared;
  grpc::Slice header = Header(job::JobSummarySignal::kHcclJsonFieldNumber, table.size());
  bool fits = before.size() + header.size() + table.size() + after.size() <= kSignalBytesMax;
  if (!fits && HasEnded(signal)) {
    table = rank_table::kHcclInitializing;
    header = Header(job::JobSummarySignal::kHcclJsonFieldNumber, table.size());
    fits = true;
  }
  std::vector<grpc::Slice> slices;
  if (fits && table.size() >= kSharedTableBytes) {
    slices.emplace_back(before);
    slices.push_back(header);
    slices.push_back(Shared(*shared));
    slices.emplace_back(after);
  } else {
    std::string all = before;
    if (fits && !table.empty()) {
      all.append(reinterpret_cast<const char*>(header.begin()), header.size()).append(table);
    }
    slices.emplace_back(all + after);
  }
  return Message(slices);
}

control::EncodedMessage EncodeJobSignalList(const std::vector<control::EncodedMessage>& signals,
                                            core::Ms report_time, std::size_t total) {
  std::vector<grpc::Slice> slices;
  slices.reserve(2 * signals.size() + 1);
  std::vector<grpc::Slice> own;
  for (const control::EncodedMessage& signal : signals) {
    slices.push_back(Header(job::JobSummarySignalList::kJobSummarySignalsFieldNumber, signal.size));
    assert(slices.back().size() <= control::Encoder::kListBytesEach);
    const bool dumped = signal.bytes->Dump(&own).ok();  // refers to the bytes, copies none
    assert(dumped);
    static_cast<void>(dumped);
    slices.insert(slices.end(), own.begin(), own.end());
  }
  job::JobSummarySignalList rest;
  rest.set_reporttime(std::to_string(report_time));
  rest.set_jobtotalnum(static_cast<std::int32_t>(
      std::min<std::size_t>(total, std::numeric_limits<std::int32_t>::max())));
  slices.emplace_back(rest.SerializeAsString());
  assert(slices.back().size() <= control::Encoder::kListBytesOnce);
  return Message(slices);
}

}  // namespace assay::rpc

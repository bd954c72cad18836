// Encoded job signals, parsed with the generated code.
#include "rpc/job_bytes.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "control/signal_size.h"
#include "job.pb.h"
#include "rank_table/hccl_json.h"
#include "rpc/bytes.h"

namespace assay::rpc {
namespace {

core::Signal SomeSignal(const std::string& table) {
  core::Signal signal;
  signal.job = {"job-1", "train", "team", "pytorch", "10.0.0.1:6000", "10.9.9.9"};
  signal.state = core::JobState::kRunning;
  signal.created = 1'700'000'000'999;
  signal.hccl = std::make_shared<const std::string>(table);
  signal.change = 7;
  return signal;
}

job::JobSummarySignal Read(const control::EncodedMessage& message) {
  CHECK(message.bytes->Length() == message.size);
  job::JobSummarySignal read;
  REQUIRE(ParseBytes(*message.bytes, &read).ok());
  return read;
}

job::JobSummarySignalList ReadList(const control::EncodedMessage& message) {
  CHECK(message.bytes->Length() == message.size);
  job::JobSummarySignalList read;
  REQUIRE(ParseBytes(*message.bytes, &read).ok());
  return read;
}

// The size that the generated code gives the same message.
std::size_t CanonicalSize(const control::EncodedMessage& message) {
  return Read(message).ByteSizeLong();
}

TEST_CASE("a table that does not fit causes a warning") {
  std::size_t fits = 0;
  for (std::size_t size = control::kMessageBytesMax - 400; size < control::kMessageBytesMax;
       size += 8) {
    const core::Signal signal = SomeSignal(std::string(size, ' '));
    const bool left_out = control::MissingHcclWarning(signal.job, *signal.hccl) != "";
    const bool carried = EncodeJobSignal(signal, std::string(36, 'u')).size > size;
    REQUIRE((carried || left_out));
    if (!left_out) fits = size;
  }
  CHECK(fits > control::kMessageBytesMax - 400);
  CHECK(control::MissingHcclWarning(SomeSignal("").job, std::string(fits + 8, ' '))
            .find("HcclJson") != std::string::npos);
}

TEST_CASE("a signal has ClusterD's fields, whatever the size of its table") {
  const std::string table = R"({"status":"complete"})" + std::string(GENERATE(0u, 20'000u), ' ');
  const core::Signal signal = SomeSignal(table);
  const control::EncodedMessage message = EncodeJobSignal(signal, "uuid-1");
  CHECK(CanonicalSize(message) == message.size);
  const job::JobSummarySignal read = Read(message);
  CHECK(read.uuid() == "uuid-1");
  CHECK(read.jobid() == "job-1");
  CHECK(read.jobname() == "train");
  CHECK(read.namespace_() == "team");
  CHECK(read.framework() == "pytorch");
  CHECK(read.jobstatus() == "running");
  CHECK(read.time() == "1700000000");
  CHECK(read.cmindex() == "0");
  CHECK(read.total() == "1");
  CHECK(read.hccljson() == table);
  CHECK(read.deletetime().empty());
  CHECK(read.sharedtorip() == "10.9.9.9");
  CHECK(read.masteraddr() == "10.0.0.1:6000");
  CHECK(read.operator_() == "add");
  CHECK(read.sid().empty());
}

TEST_CASE("deleteTime is set for ended jobs only, the addresses for pytorch only") {
  core::Signal signal = SomeSignal("{}");
  signal.ended = 1'700'000'100'500;
  CHECK(Read(EncodeJobSignal(signal, "u")).deletetime().empty());  // running: not set
  for (core::JobState state : {core::JobState::kComplete, core::JobState::kFailed}) {
    signal.state = state;
    CHECK(Read(EncodeJobSignal(signal, "u")).deletetime() == "1700000100");
  }
  signal.state = core::JobState::kRunning;
  signal.deleted = true;
  signal.job.framework = "mindspore";
  const job::JobSummarySignal read = Read(EncodeJobSignal(signal, "u"));
  CHECK(read.operator_() == "delete");
  CHECK(read.jobstatus() == "failed");
  CHECK(read.deletetime() == "1700000100");
  CHECK(read.sharedtorip().empty());
  CHECK(read.masteraddr().empty());
  signal.job.framework.clear();
  CHECK(Read(EncodeJobSignal(signal, "u")).masteraddr() == "10.0.0.1:6000");
}

TEST_CASE("a table that makes the message too large is omitted for both methods") {
  const std::size_t around = EncodeJobSignal(SomeSignal(""), "u").size;
  const std::size_t most = control::kMessageBytesMax - control::Encoder::kListBytesOnce -
                           control::Encoder::kListBytesEach - around - 5;  // the field's header
  const control::EncodedMessage fits = EncodeJobSignal(SomeSignal(std::string(most, 'x')), "u");
  CHECK(Read(fits).hccljson().size() == most);
  CHECK(EncodeJobSignalList({fits}, 1'700'000'000'000, 1).size <= control::kMessageBytesMax);
  const control::EncodedMessage cut = EncodeJobSignal(SomeSignal(std::string(most + 1, 'x')), "u");
  CHECK(Read(cut).hccljson().empty());
  CHECK(Read(cut).operator_() == "add");
  CHECK(Read(cut).jobid() == "job-1");
}

// ClusterD's FdAgent skips a signal whose HcclJson is not JSON and keys jobs by namespace and name.
TEST_CASE("the end of a job always has a HcclJson that parses") {
  const std::string initializing(rank_table::kHcclInitializing);
  for (const std::size_t size : {std::size_t{0}, control::kMessageBytesMax + 1}) {
    core::Signal signal = SomeSignal(std::string(size, 'x'));
    for (core::JobState state : {core::JobState::kComplete, core::JobState::kFailed}) {
      signal.state = state;
      CHECK(Read(EncodeJobSignal(signal, "u")).hccljson() == initializing);
    }
    signal.deleted = true;
    for (core::JobState state : {core::JobState::kPending, core::JobState::kRunning,
                                 core::JobState::kFailed, core::JobState::kComplete}) {
      signal.state = state;
      const job::JobSummarySignal read = Read(EncodeJobSignal(signal, "u"));
      CHECK(read.hccljson() == initializing);
      CHECK(read.jobstatus() == (state == core::JobState::kComplete ? "complete" : "failed"));
    }
  }
  core::Signal deleted = SomeSignal("{}");
  deleted.deleted = true;
  CHECK(Read(EncodeJobSignal(deleted, "u")).hccljson() == "{}");
}

TEST_CASE("a pending job reports that its table is initializing, whatever table it has") {
  for (const std::size_t size : {std::size_t{0}, std::size_t{20'000}}) {
    core::Signal signal = SomeSignal(std::string(size, 'x'));
    signal.state = core::JobState::kPending;
    const job::JobSummarySignal read = Read(EncodeJobSignal(signal, "u"));
    CHECK(read.hccljson() == rank_table::kHcclInitializing);
    CHECK(read.jobstatus() == "pending");
  }
}

TEST_CASE("a job without a name has its id as its name") {
  core::Signal signal = SomeSignal("{}");
  signal.job.name.clear();
  CHECK(Read(EncodeJobSignal(signal, "u")).jobname() == "job-1");
}

TEST_CASE("a list contains the signals' bytes unchanged") {
  std::vector<control::EncodedMessage> signals;
  for (std::size_t i = 0; i < 5; ++i) {
    signals.push_back(EncodeJobSignal(SomeSignal(std::string(i * 3000, 'x')), std::to_string(i)));
  }
  const control::EncodedMessage message = EncodeJobSignalList(signals, 1'700'000'000'123, 4000);
  const job::JobSummarySignalList list = ReadList(message);
  CHECK(list.ByteSizeLong() == message.size);
  CHECK(list.reporttime() == "1700000000123");
  CHECK(list.jobtotalnum() == 4000);
  REQUIRE(list.jobsummarysignals_size() == 5);
  std::size_t sum = control::Encoder::kListBytesOnce;
  for (std::size_t i = 0; i < 5; ++i) {
    const job::JobSummarySignal& one = list.jobsummarysignals(static_cast<int>(i));
    CHECK(one.SerializeAsString() == Read(signals[i]).SerializeAsString());
    sum += signals[i].size + control::Encoder::kListBytesEach;
  }
  CHECK(message.size <= sum);
}

TEST_CASE("the bytes share the table instead of copying it and keep it alive") {
  auto table = std::make_shared<const std::string>(std::string(100'000, 'x'));
  core::Signal signal = SomeSignal("");
  signal.hccl = table;
  control::EncodedMessage message = EncodeJobSignal(signal, "u");
  const control::EncodedMessage list = EncodeJobSignalList({message}, 1, 1);
  signal.hccl = nullptr;
  CHECK(table.use_count() == 2);
  message = {};
  CHECK(table.use_count() == 2);
  const std::weak_ptr<const std::string> watched = table;
  table = nullptr;
  CHECK(ReadList(list).jobsummarysignals(0).hccljson() == std::string(100'000, 'x'));
  CHECK_FALSE(watched.expired());
}

}  // namespace
}  // namespace assay::rpc

// The clients' shared code in speed_bench and signals_bench: gRPC in raw bytes, the same for Assay
// and for the bare servers.
//
// Errors throw std::runtime_error, which ends the benchmark. A stream error, reported on one of
// gRPC's threads, calls Counter::Broke instead, and Counter::Wait throws.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "recover.pb.h"

namespace assay::bench {

using grpc::ByteBuffer;
using Clock = std::chrono::steady_clock;

inline constexpr auto kPatience = std::chrono::seconds(120);

inline double Ms(Clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

inline double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.at(values.size() / 2);
}

[[noreturn]] inline void Fail(const std::string& why) { throw std::runtime_error(why); }

inline ByteBuffer BytesOf(const google::protobuf::MessageLite& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return {&slice, 1};
}

template <class Message>
Message Parsed(const ByteBuffer& bytes) {
  grpc::Slice slice;
  Message message;
  if (!bytes.DumpToSingleSlice(&slice).ok() ||
      !message.ParseFromArray(slice.begin(), static_cast<int>(slice.size()))) {
    Fail("a message from the server cannot be parsed");
  }
  return message;
}

// Processor time that a process has used in ms: all threads, user and system.
inline double CpuMs(pid_t pid) {
  clockid_t clock{};
  timespec used{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0) {
    Fail("cannot read the processor time of a process");
  }
  return static_cast<double>(used.tv_sec) * 1e3 + static_cast<double>(used.tv_nsec) / 1e6;
}

// Counts what gRPC's threads report and the time of the last report. All methods may be called from
// any thread; only one thread may Wait.
class Counter {
 public:
  void Add(int count, std::size_t bytes = 0) {
    const std::lock_guard<std::mutex> lock(mutex_);
    count_ += count;
    bytes_ += bytes;
    last_ = Clock::now();
    if (count_ >= target_) reached_.notify_one();
  }
  void Broke(const std::string& why) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (broken_.empty()) broken_ = why;
    reached_.notify_one();
  }
  // Waits for `target` reports and returns the time of the last one; then counts from zero again.
  Clock::time_point Wait(int target, const char* what) {
    std::unique_lock<std::mutex> lock(mutex_);
    target_ = target;
    const bool done =
        reached_.wait_for(lock, kPatience, [&] { return count_ >= target_ || !broken_.empty(); });
    if (!broken_.empty()) Fail(std::string(what) + ": " + broken_);
    if (!done || count_ != target) {
      Fail(std::string(what) + ": " + std::to_string(count_) + " of " + std::to_string(target));
    }
    count_ = 0;
    return last_;
  }
  std::size_t bytes() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return bytes_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable reached_;
  int count_ = 0;
  int target_ = 1 << 30;
  std::size_t bytes_ = 0;
  std::string broken_;
  Clock::time_point last_;
};

// Serves until standard input ends; prints its address to standard output.
inline int ServeAlone(grpc::Service* service) {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) Fail("the bare server cannot listen");
  std::printf("127.0.0.1:%d\n", port);
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  server->Shutdown(std::chrono::system_clock::now());
  return 0;
}

inline std::shared_ptr<grpc::Channel> Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // do not share connections
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

// Makes a unary call and returns the time of its answer. Fails unless the answer has code 0.
inline Clock::time_point Call(grpc::GenericStub* stub, const std::string& method,
                              const ByteBuffer& request) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  ByteBuffer response;
  grpc::Status status;
  Counter answered;
  stub->UnaryCall(&context, method, grpc::StubOptions(), &request, &response, [&](grpc::Status s) {
    status = std::move(s);
    answered.Add(1);
  });
  const Clock::time_point when = answered.Wait(1, method.c_str());
  if (!status.ok()) Fail(method + ": " + status.error_message());
  const auto answer = Parsed<::Status>(response);
  if (answer.code() != 0) Fail(method + ": " + answer.info());
  return when;
}

// Counters for all streams of one kind.
struct Group {
  Counter opened;
  Counter came;
  Counter ended;
};

// A stream whose messages are counted. It ends with Cancel; its owner must wait for `ended` before
// destroying it.
class CountedStream : public grpc::ClientBidiReactor<ByteBuffer, ByteBuffer> {
 public:
  explicit CountedStream(Group* group) : group_(group) {}
  void Start(grpc::GenericStub* stub, const std::string& method, const ByteBuffer& first) {
    outgoing_ = first;
    stub->PrepareBidiStreamingCall(&context_, method, grpc::StubOptions(), this);
    StartWrite(&outgoing_);
    StartRead(&incoming_);
    StartCall();
  }
  void Cancel() { context_.TryCancel(); }

 protected:
  virtual void Came(const ByteBuffer& message) = 0;
  // Called after each message; if it returns false, reading stops until ReadOn.
  virtual bool Reads() { return true; }
  void ReadOn() { StartRead(&incoming_); }
  Group* const group_;

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return;
    Came(incoming_);
    incoming_.Clear();
    if (Reads()) StartRead(&incoming_);
  }
  void OnDone(const grpc::Status& status) override {
    if (status.error_code() != grpc::StatusCode::CANCELLED) {
      group_->opened.Broke(status.error_message());
      group_->came.Broke(status.error_message());
    }
    group_->ended.Add(1);
  }

  grpc::ClientContext context_;
  ByteBuffer outgoing_;
  ByteBuffer incoming_;
};

}  // namespace assay::bench

// The ceiling for fan-out: streams of a gRPC callback server that write one pre-serialised message
// as often as requested, each as soon as the previous write is done.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <mutex>
#include <set>

#include "tests/bench/speed_client.h"

namespace assay::bench {

// REQUIRES: outlives its streams.
class BareStreams {
 public:
  explicit BareStreams(const ByteBuffer& message) : message_(message) {}

  grpc::ServerWriteReactor<ByteBuffer>* Open() { return new Stream(this); }
  void Send(int times) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (Stream* stream : streams_) stream->Send(times);
  }

 private:
  class Stream final : public grpc::ServerWriteReactor<ByteBuffer> {
   public:
    explicit Stream(BareStreams* all) : all_(all) {
      const std::lock_guard<std::mutex> lock(all->mutex_);
      all->streams_.insert(this);
      StartSendInitialMetadata();
    }
    void Send(int times) {
      if (owed_.fetch_add(times) == 0) StartWrite(&all_->message_);
    }

   private:
    void OnWriteDone(bool ok) override {
      if (ok && owed_.fetch_sub(1) > 1) StartWrite(&all_->message_);
    }
    void OnCancel() override {
      {
        const std::lock_guard<std::mutex> lock(all_->mutex_);
        all_->streams_.erase(this);
      }
      Finish(grpc::Status::CANCELLED);
    }
    void OnDone() override { delete this; }

    BareStreams* const all_;
    std::atomic<int> owed_{0};
  };

  const ByteBuffer message_;
  std::mutex mutex_;
  std::set<Stream*> streams_;
};

}  // namespace assay::bench

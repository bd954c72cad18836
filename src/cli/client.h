// The commands' connection to the coordinator: one channel, calls that end at a deadline or at a
// signal, errors with texts that tell the user what to do.
//
// Thread safety: none; the one thread of a command uses it.
#pragma once

#include <memory>
#include <string>

#include "admin.grpc.pb.h"
#include "base/host_port.h"
#include "base/status.h"
#include "cli/address.h"
#include "cli/flags/flags.h"

namespace assay::cli {

// Flags that every client command has.
struct ClientFlags {
  std::string coordinator = base::kCoordinatorAddress;
  bool json = false;
  // `json_help` is the help text of --json.
  void Declare(flags::Flags* flags, const std::string& json_help =
                                        "print one JSON document on standard output, nothing else");
};

// The largest request that a coordinator accepts, in bytes: 16 MiB less 64 KiB for gRPC framing.
inline constexpr std::size_t kRequestBytesMax = (std::size_t{16} << 20) - (std::size_t{64} << 10);

// Deadline of a call.
inline constexpr int kDeadlineSeconds = 60;

// Makes a channel with its own connection. `address` comes from CoordinatorAddress().
//
// Take a new channel for the first call after a lost connection, with `again`: it connects at once.
// gRPC's own reconnection waits for its back-off, and proceeds only while some thread polls.
std::shared_ptr<grpc::Channel> ChannelTo(const std::string& address, bool again = false);
// Converts the status of a failed call into an error for the user. Its text is the coordinator's
// own, or names the address that does not answer (kUnavailable).
base::Status ExplainCall(const std::string& address, const grpc::Status& status);

class Client {
 public:
  explicit Client(const std::string& coordinator);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  template <class Request, class Response>
  using Method = std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> (admin::Admin::Stub::*)(
      grpc::ClientContext*, const Request&, grpc::CompletionQueue*);

  // `method` prepares the call, e.g. &admin::Admin::Stub::PrepareAsyncListJobs. If a caught
  // signal waits (cli/interrupt.h), a call that is not answered soon ends with kUnavailable and the
  // text "interrupted ...".
  template <class Request, class Response>
  base::Result<Response> Call(Method<Request, Response> method, const Request& request);

 private:
  // Makes the stub if there is none.
  void Prepare(grpc::ClientContext* context);
  // Waits for the end of the call. Returns whether a signal cancelled it.
  bool Await(grpc::ClientContext* context);
  base::Status Failed(const grpc::Status& status, bool cancelled);

  const std::string address_;
  bool again_ = false;  // the last connection was lost or not made
  std::unique_ptr<admin::Admin::Stub> stub_;
  grpc::CompletionQueue queue_;  // holds at most one call
};

template <class Request, class Response>
base::Result<Response> Client::Call(Method<Request, Response> method, const Request& request) {
  grpc::ClientContext context;
  Prepare(&context);
  Response response;
  grpc::Status status;
  const auto reader = (stub_.get()->*method)(&context, request, &queue_);
  reader->StartCall();
  reader->Finish(&response, &status, this);
  const bool cancelled = Await(&context);
  if (!status.ok()) return Failed(status, cancelled);
  return response;
}

}  // namespace assay::cli

// How the commands reach the coordinator: one channel, blocking calls with a deadline, errors as
// texts that say what to do.
//
// Thread safety: none; the one thread of a command uses it.
#pragma once

#include <memory>
#include <string>

#include "admin.grpc.pb.h"
#include "base/status.h"
#include "cli/flags.h"

namespace assay {

// Flags every client command has.
struct ClientFlags {
  std::string coordinator = "127.0.0.1:8899";
  bool json = false;
  void Declare(Flags* flags);
};

class Client {
 public:
  explicit Client(const std::string& coordinator);

  // `call` is a method of the stub, e.g. &admin::Admin::Stub::ListJobs. An error's text is the
  // coordinator's own, or names the address that does not answer (kUnavailable).
  template <class Request, class Response>
  Result<Response> Call(grpc::Status (admin::Admin::Stub::*call)(grpc::ClientContext*,
                                                                 const Request&, Response*),
                        const Request& request);

 private:
  static constexpr int kDeadlineSeconds = 60;
  void Prepare(grpc::ClientContext* context) const;
  Status Explain(const grpc::Status& status) const;

  std::string coordinator_;
  std::unique_ptr<admin::Admin::Stub> stub_;
};

template <class Request, class Response>
Result<Response> Client::Call(grpc::Status (admin::Admin::Stub::*call)(grpc::ClientContext*,
                                                                       const Request&, Response*),
                              const Request& request) {
  grpc::ClientContext context;
  Prepare(&context);
  Response response;
  const grpc::Status status = (stub_.get()->*call)(&context, request, &response);
  if (!status.ok()) return Explain(status);
  return response;
}

}  // namespace assay

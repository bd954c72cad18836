// The registered clients of job signals: Register returns a client id, and the client opens its
// stream with that id.
//
// Thread safety: none; the cluster owns it. Ids do not outlive the process: a client that gets
// NOT_FOUND registers again, as it must with ClusterD after every disconnect.
//
// Invariants:
// 1. An id has at most one stream; a newer stream replaces it.
// 2. An id without a stream is dropped after client_kept. If there are clients_max ids at a
//    Register, the id that has been idle longest is dropped.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/cluster/step.h"
#include "core/event.h"
#include "core/settings.h"

namespace assay::core::cluster {

// The status of a stream that a newer stream of the same client replaces.
base::Status SubscriptionReplaced(const std::string& client);

class Clients {
 public:
  // REQUIRES: settings outlive it.
  explicit Clients(const Settings& settings) : settings_(settings) {}

  // Answers the call.
  void Register(const ClientRegistered& asked, const Stepping& step);

  struct Admission {
    base::Status status;               // ok: the stream is now the client's stream
    std::optional<StreamId> replaced;  // the client's former stream, which the caller must end
  };
  Admission Subscribe(const StreamOpened& opened);
  // May be called for any stream; ignored if no client has it.
  void StreamClosed(StreamId stream, const Stepping& step);

  void Tick(const Stepping& step);
  Ms NextDeadline(Ms none) const;

 private:
  struct Client {
    std::string role;
    std::optional<StreamId> stream;
    Ms idle_since = 0;  // valid while there is no stream
  };

  // Drops the client that has been idle longest. REQUIRES: a client is idle.
  void ForgetOldest();

  const Settings& settings_;
  std::map<std::string, Client, std::less<>> clients_;
  std::map<StreamId, std::string> streams_;    // stream -> client id
  std::set<std::pair<Ms, std::string>> idle_;  // (idle since, client id)
};

}  // namespace assay::core::cluster

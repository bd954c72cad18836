// Who may subscribe to job signals: an id is given by Register, and a stream is opened with it.
//
// Invariants:
// 1. An id has at most one stream; a newer one replaces it.
// 2. An id without a stream is forgotten after client_kept, or when there are clients_max ids and
//    another is asked for: then the one that was idle longest. Ids do not outlive the process:
//    a client that is told NOT_FOUND registers again, as after every break with ClusterD.
//
// Thread safety: none; the cluster owns it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/cluster/step.h"
#include "core/event.h"
#include "core/settings.h"

namespace assay {

// How a stream ends whose client has a newer one.
Status SubscriptionReplaced(const std::string& client);

class Clients {
 public:
  // REQUIRES: settings outlive it.
  explicit Clients(const Settings& settings) : settings_(settings) {}

  // Answers the call.
  void Register(const ClientRegistered& asked, const Stepping& step);

  struct Admission {
    Status status;                     // why not; ok: the stream is the client's now
    std::optional<StreamId> replaced;  // the one it had, to be ended
  };
  Admission Subscribe(const StreamOpened& opened);
  // Any stream: nothing happens when it is nobody's.
  void StreamClosed(StreamId stream, const Stepping& step);

  void Tick(const Stepping& step);
  Ms NextDeadline(Ms none) const;

 private:
  struct Client {
    std::string role;
    std::optional<StreamId> stream;
    Ms idle_since = 0;  // without a stream
  };

  void ForgetOldest();  // REQUIRES: there is an idle one

  const Settings& settings_;
  std::map<std::string, Client, std::less<>> clients_;
  std::map<StreamId, std::string> streams_;    // whose
  std::set<std::pair<Ms, std::string>> idle_;  // since when, who
};

}  // namespace assay

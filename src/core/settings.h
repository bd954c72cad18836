// The time limits and other limits of the coordinator's core. Times are in milliseconds; the
// defaults are those of the flags.
//
// Thread safety: values.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>

#include "core/model.h"

namespace assay::core {

struct Settings {
  Ms aic_deadline = 300'000;
  Ms p2p_deadline = 600'000;
  Ms start_allowance = 60'000;  // how long a run waits for an executor that is not connected
  Ms kill_grace = 30'000;       // from a deadline to the kill
  // The link of an agent that sends nothing for this time is ended; after the loss of its link the
  // agent's name is reserved for it for this time.
  Ms agent_timeout = 30'000;
  Ms heartbeat = 5'000;  // how often an agent sends a message at least
  // The minimum time from a job's last reply to its next notification (TaskD repeats for 10 s).
  Ms reply_quiet = 12'000;
  Ms owing = 1'200'000;           // how long an unanswered subscriber-run blocks the next run
  Ms reply_allowance = 60'000;    // added to the op deadlines for a subscriber's whole reply
  Ms result_replay = 86'400'000;  // the maximum age of a result sent to a late subscriber
  // Job signals.
  std::set<std::string, std::less<>> job_roles = {"CCAgent", "DefaultUser1", "DefaultUser2",
                                                  "FdAgent"};
  Ms client_kept = 600'000;           // how long a client id without a stream is retained
  Ms deleted_kept = 3'600'000;        // how long the deletion of a job is retained for subscribers
  std::size_t deleted_max = 10'000;   // retained deletions; beyond it the oldest are dropped
  std::size_t clients_max = 100'000;  // client ids, with or without a stream
  std::size_t subscriptions_max = 10'000;

  // After a start of the coordinator, no deadline is enforced before this time has passed, so that
  // agents and subscribers can reconnect.
  Ms resume_grace = 10'000;
};

}  // namespace assay::core

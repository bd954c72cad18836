// The times by which the coordinator judges. Milliseconds; defaults are those of the flags.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>

#include "core/model.h"

namespace assay {

struct Settings {
  Ms aic_deadline = 300'000;
  Ms p2p_deadline = 600'000;
  Ms start_allowance = 60'000;  // how long somebody who is away is waited for
  Ms kill_grace = 30'000;       // from a deadline to the kill
  Ms agent_timeout = 30'000;    // a silent agent's name is kept for it this long
  Ms heartbeat = 5'000;         // agents say something this often
  Ms reply_quiet =
      12'000;  // from a job's last reply to its next notification (TaskD repeats for 10 s)
  Ms owing = 1'200'000;           // how long an unanswered subscriber-run blocks the next
  Ms reply_allowance = 60'000;    // added to the op deadlines of a subscriber's whole reply
  Ms result_replay = 86'400'000;  // how old a result a late subscriber still gets
  // Job signals.
  std::set<std::string, std::less<>> job_roles = {"CCAgent", "DefaultUser1", "DefaultUser2",
                                                  "FdAgent"};
  Ms client_kept = 600'000;           // an id without a stream
  Ms deleted_kept = 3'600'000;        // how long subscribers are told of a job that went
  std::size_t deleted_max = 10'000;   // of them; above it the oldest are forgotten
  std::size_t clients_max = 100'000;  // ids, with a stream or without
  std::size_t subscriptions_max = 10'000;
  Ms resume_grace =
      10'000;  // after a restart nothing is judged late before everybody could come back
};

}  // namespace assay

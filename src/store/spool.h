// The agent's database: who it is, and what it owes the coordinator.
//
// The same promises as store.h: what Commit answered with ok survives, a failed one has changed
// nothing. An outcome, once stored, never changes and is kept, acknowledged or not, until
// SpoolDrop.
//
// Thread safety: none; the agent's loop owns it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "core/node/supervisor.h"
#include "store/database_file.h"

namespace assay {

class SpoolWriter;

class Spool {
 public:
  // Makes the file, for this user alone, when it does not exist; its folder must. kConflict: in use
  // by another agent, or of a newer version; kInvalid: not an agent's database.
  static Result<std::unique_ptr<Spool>> Open(const std::string& file);
  ~Spool();

  // Made at random with the file, the same ever after: a UUID.
  const std::string& identity() const { return identity_; }

  Status Commit(const std::vector<SpoolRecord>& records);

  // SpooledRun::assign has everything but its ranks, which are in SpooledRun::ranks, in the order
  // in which they were assigned.
  Result<Spooled> Load();

  void Idle();  // as Store::Idle
  Status Close();

 private:
  explicit Spool(std::unique_ptr<DatabaseFile> file);
  Status MakeUsable();
  Status ReadIdentity();

  std::unique_ptr<DatabaseFile> file_;
  std::unique_ptr<SpoolWriter> writer_;  // null: the connection must be opened anew
  std::string identity_;
};

}  // namespace assay

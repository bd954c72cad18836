// The agent's database: its identity, its assigned runs and their outcomes.
//
// 1. As in store.h: the records of a successful Commit survive; a failed Commit changes nothing.
// 2. A stored outcome never changes. It remains, acknowledged or not, until SpoolDrop.
//
// Thread safety: none; the agent's loop owns it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "core/node/supervisor.h"
#include "store/record_file.h"

namespace assay::store {

class SpoolWriter;

class Spool {
 public:
  // Creates the file, accessible to this user only, if it does not exist. Its folder must exist.
  // kConflict: another agent uses the file, or its version is newer; kInvalid: it is not an agent's
  // database.
  static base::Result<std::unique_ptr<Spool>> Open(const std::string& file);
  ~Spool();

  // A random UUID, created with the file and never changed.
  const std::string& identity() const { return identity_; }

  base::Status Commit(const std::vector<core::node::SpoolRecord>& records);

  // Returns all stored runs. SpooledRun::assign has no ranks; they are in SpooledRun::ranks, in
  // ascending order.
  base::Result<core::node::Spooled> Load();

  void Idle();  // see Store::Idle
  base::Status Close();

 private:
  explicit Spool(std::unique_ptr<DatabaseFile> file);
  base::Status ReadIdentity();

  RecordFile<SpoolWriter> file_;
  std::string identity_;
};

}  // namespace assay::store

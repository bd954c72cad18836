// The coordinator's database: takes the records of a batch in one transaction and gives back all
// that is needed to go on after a restart.
//
// 1. What Commit answered with ok survives the death of the process and of the machine: one
//    transaction, synced, in WAL mode.
// 2. A failed Commit has changed nothing, and the Store can be used on: Load then gives the state
//    of the last successful one. (A batch whose last sync failed may come back if the machine dies
//    before the next Commit: to its callers it was unavailable, which says just that.)
// 3. An outcome, once stored, never changes: a second one for the same (run, rank, op) is ignored.
// 4. This is the only connection that writes or checkpoints (database_file.h). Readers have their
//    own (queries.h, shells) and neither wait for it nor hold it up.
//
// Thread safety: none; the control loop owns it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "core/effect.h"
#include "core/model.h"
#include "store/database_file.h"

namespace assay {

class RecordWriter;

class Store {
 public:
  // Makes the file, readable for everybody, when it does not exist; its folder must. kConflict: in
  // use by another process, or of a newer version; kInvalid: not a database of ours.
  static Result<std::unique_ptr<Store>> Open(const std::string& file);
  ~Store();

  // kUnavailable: the disk is full, read-only or broken, or another program holds the database; the
  // same records may be accepted later.
  Status Commit(const std::vector<Record>& records);

  // The open runs with all they have, the newest run of each job, closed, as its header only.
  // next_run is above every number ever given.
  Result<Durable> Load();

  // Copies the log into the database when it is worth it, and frees most of what is cached of it;
  // for moments without work. Milliseconds.
  void Idle();

  Status Close();

  const std::string& file() const { return file_->file(); }  // absolute

 private:
  explicit Store(std::unique_ptr<DatabaseFile> file);
  Status MakeUsable();

  std::unique_ptr<DatabaseFile> file_;
  std::unique_ptr<RecordWriter> writer_;  // null: the connection must be opened anew
};

}  // namespace assay

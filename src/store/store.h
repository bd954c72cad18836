// The coordinator's database: stores the records of a batch in one transaction and loads the state
// that the coordinator needs after a restart.
//
// 1. The records of a successful Commit survive the death of the process and of the machine: one
//    transaction, synced, in WAL mode.
// 2. A failed Commit changes nothing, and the Store stays usable: Load then returns the state of
//    the last successful Commit. (A batch whose last sync failed may reappear if the machine dies
//    before the next Commit. Its callers received "unavailable", which leaves the result open.)
// 3. A stored outcome never changes: a second one for the same (run, rank, op) is ignored.
// 4. This is the only connection that writes or checkpoints (database_file.h). Readers have their
//    own connections (queries.h, sqlite3 shells); they neither wait for this one nor delay it.
//
// Thread safety: none; the control loop owns it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "core/effect.h"
#include "core/model.h"
#include "store/record_file.h"

namespace assay::store {

class RecordWriter;

class Store {
 public:
  // Creates the file, readable by all users, if it does not exist. Its folder must exist.
  // kConflict: another process uses the file, or its version is newer; kInvalid: it is not a
  // database of ours.
  static base::Result<std::unique_ptr<Store>> Open(const std::string& file);
  ~Store();

  // kUnavailable: the disk is full, read-only or broken, or another program has locked the
  // database. A later Commit of the same records may succeed.
  base::Status Commit(const std::vector<core::Record>& records);

  // Returns the committed state: open runs complete, of closed runs only the header of the newest
  // run of each job. next_run is greater than every run number ever used.
  base::Result<core::Durable> Load();

  // Copies the log into the database if it is long enough to be worth it, and frees a large cache.
  // Takes milliseconds. Call it while there is no work.
  void Idle();

  base::Status Close();

  const std::string& file() const { return file_.file().file(); }  // absolute

 private:
  explicit Store(std::unique_ptr<DatabaseFile> file);

  RecordFile<RecordWriter> file_;
};

}  // namespace assay::store

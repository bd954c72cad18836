// A database file that this process owns: locked against a second process, known to be ours and of
// the right version, in WAL mode with full sync, and checkpointed by this one connection only.
//
// 1. A file is refused and left byte for byte as it was when it is not an SQLite database, belongs
//    to another program (application_id), or has a newer schema. A new file is complete from the
//    moment it has its name. An older one is migrated in one transaction.
// 2. Nobody else checkpoints or writes in this process: SQLite before 3.51.3 can lose commits when
//    two connections do both at once (sqlite.org/wal.html, "The WAL-Reset Bug").
// 3. The log and its index (-wal, -shm) stay when the file is closed, so that shells of users who
//    may not write here can read at any moment. They have the mode of the database file.
//
// Thread safety: none; one thread owns it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/file_lock.h"
#include "base/status.h"
#include "store/sqlite.h"

namespace assay {

// Leads from version `from` to `from` + 1.
struct Migration {
  int from;
  const char* sql;
};

struct Schema {
  std::int32_t application_id;
  int version;             // PRAGMA user_version
  const char* create_sql;  // makes an empty database one of this version
  std::span<const Migration> migrations;
};

class DatabaseFile {
 public:
  // Makes the file, with `mode` whatever the umask, when it does not exist or is empty; its folder
  // must exist. REQUIRES: no connection of this process to `file` is open.
  static Result<std::unique_ptr<DatabaseFile>> Open(const std::string& file, const Schema& schema,
                                                    mode_t mode);
  ~DatabaseFile();

  const std::string& file() const { return file_; }  // absolute
  Database& database() { return *database_; }        // REQUIRES: usable

  // False after a failure from which the connection does not recover: Reopen. REQUIRES of Reopen:
  // no Statement is alive.
  bool usable() const;
  Status Reopen();

  // An error when the file is no longer where it was opened: whoever looks for what is stored would
  // look in vain. It can be used again, after Reopen, once a database of ours is there.
  Status CheckInPlace();

  // Copies the log into the database once it is worth it. For moments without work.
  void Idle();
  // The same, but only when the log has grown so long that it cannot wait.
  void AfterCommit();

  Status Close();  // REQUIRES: no Statement is alive

 private:
  DatabaseFile(std::string file, const Schema& schema, LockFile lock)
      : file_(std::move(file)), schema_(schema), lock_(std::move(lock)) {}

  Status Create(mode_t mode);
  Status CreateNew(const std::string& path, mode_t mode);
  Status Connect();
  Status Admit(Database* database);
  Status Migrate(Database* database);
  Status QuickCheck();
  void Checkpoint();

  const std::string file_;
  const Schema schema_;
  const LockFile lock_;
  std::unique_ptr<Database> database_;
  bool moved_ = false;

  // In frames, that is pages, of the log.
  int log_ = 0;     // its length after the last commit
  int copied_ = 0;  // of these are in the database
  bool said_trouble_ = false;
  bool said_long_ = false;
};

}  // namespace assay

// A database file that this process owns: locked against a second process, verified to be ours and
// of a supported version, in WAL mode with full sync, and checkpointed by this one connection only.
//
// 1. Open refuses a file, and leaves it byte for byte unchanged, if it is not an SQLite database,
//    belongs to another program (application_id), or has a newer schema. A new file is complete
//    from the moment it has its name. An older one is migrated in one transaction.
// 2. No other connection of this process checkpoints or writes: SQLite before 3.51.3 can lose
//    commits when two connections do both at once (sqlite.org/wal.html, "The WAL-Reset Bug").
// 3. The log and its index (-wal, -shm) remain when the file is closed, so that shells of users
//    without write permission can read at any time. They have the mode of the database file.
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

namespace assay::store {

// Migrates from version `from` to `from` + 1.
struct Migration {
  int from;
  const char* sql;
};

struct Schema {
  std::int32_t application_id;
  int version;             // PRAGMA user_version
  const char* create_sql;  // creates this version in an empty database
  std::span<const Migration> migrations;
};

class DatabaseFile {
 public:
  // Creates the file if it does not exist or is empty, with `mode` regardless of the umask. Its
  // folder must exist. REQUIRES: no connection of this process to `file` is open.
  static base::Result<std::unique_ptr<DatabaseFile>> Open(const std::string& file,
                                                          const Schema& schema, mode_t mode);
  ~DatabaseFile();

  const std::string& file() const { return file_; }  // absolute
  Database& database() { return *database_; }        // REQUIRES: usable

  // False after a failure from which the connection does not recover. Call Reopen then.
  bool usable() const;
  // REQUIRES: no Statement is alive.
  base::Status Reopen();

  // Fails if the file is no longer at the path where it was opened: readers would not find there
  // what is stored. The file is usable again after a Reopen, once a database of ours is there.
  base::Status CheckInPlace();

  // Copies the log into the database if it is long enough to be worth it, and frees a large cache.
  // Call it while there is no work.
  void Idle();
  // Copies the log into the database only if it is too long to wait for Idle.
  void AfterCommit();

  base::Status Close();  // REQUIRES: no Statement is alive

 private:
  DatabaseFile(std::string file, const Schema& schema, base::FileLock lock)
      : file_(std::move(file)), schema_(schema), lock_(std::move(lock)) {}

  base::Status Create(mode_t mode);
  base::Status CreateNew(const std::string& path, mode_t mode);
  base::Status Connect();
  base::Status Admit(Database* database);
  base::Status Migrate(Database* database);
  base::Status QuickCheck();
  void Checkpoint();

  const std::string file_;
  const Schema schema_;
  const base::FileLock lock_;
  std::unique_ptr<Database> database_;
  bool moved_ = false;

  // In frames of the log; a frame is a page.
  int log_ = 0;     // length after the last commit
  int copied_ = 0;  // length at the last checkpoint attempt; 0 after the log restarts
  bool said_trouble_ = false;
  bool said_long_ = false;
};

}  // namespace assay::store

#include "store/database_file.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/log.h"
#include "base/unique_fd.h"

namespace assay::store {
namespace {

// Lengths of the log, in pages of 4 KiB.
constexpr int kLogWorth = 1'000;    // checkpoint while there is no work
constexpr int kLogUrgent = 16'384;  // checkpoint after the commit
constexpr int kLogLong = 65'536;    // warn: a reader prevents the reuse of the log
constexpr std::int64_t kLogKeptBytes = std::int64_t{64} << 20;
constexpr std::int64_t kCacheKib = 32 * 1024;
// Idle frees a cache above this size, in bytes, so that a burst does not occupy memory forever.
constexpr int kCacheKept = 4 << 20;
constexpr auto kQuickCheckTime = std::chrono::seconds(1);

std::string SystemError(int error) { return std::generic_category().message(error); }

// The absolute path of `file`. Its folder must exist, the file need not.
base::Result<std::string> AbsolutePath(const std::string& file) {
  if (file.empty())
    return base::InvalidError("the file name of the database is empty: name a file");
  std::error_code error;
  const std::filesystem::path path = std::filesystem::weakly_canonical(file, error);
  if (error)
    return base::InvalidError("database " + file + ": " + error.message() + ": name another file");
  const std::filesystem::path folder = path.parent_path();
  if (!std::filesystem::is_directory(folder, error)) {
    return base::NotFoundError("database " + file + ": the folder " + folder.string() +
                               " does not exist: create it first, or name another file");
  }
  return path.string();
}

std::uint32_t BigEndian(const unsigned char* at) {
  return std::uint32_t{at[0]} << 24 | std::uint32_t{at[1]} << 16 | std::uint32_t{at[2]} << 8 |
         at[3];
}

base::Status NewerError(const std::string& file, std::int64_t version, const Schema& schema) {
  return base::ConflictError("database " + file + " has schema version " + std::to_string(version) +
                             ", this program supports versions up to " +
                             std::to_string(schema.version) +
                             ": start a newer version of the program, or name another file");
}

base::Status MovedError(const std::string& file) {
  return base::UnavailableError("database " + file +
                                " was moved or removed while in use: put it back, or restart");
}

base::Status ForeignError(const std::string& file) {
  return base::InvalidError("database " + file +
                            " is an SQLite database of another program: name another file");
}

// Whether `file` is a database of ours, according to its header (sqlite.org/fileformat2.html, 1.3).
// False if it does not exist or is empty; an error if it must be refused. Never changes the file.
base::Result<bool> Exists(const std::string& file, const Schema& schema) {
  const base::UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) {
    const int error = errno;
    if (error == ENOENT) return false;
    return base::UnavailableError("database " + file + ": cannot open it: " + SystemError(error) +
                                  ": make it readable and writable for this user");
  }
  struct stat info {};
  unsigned char header[100] = {};
  ssize_t size = -1;
  if (fstat(fd.get(), &info) == 0 && S_ISREG(info.st_mode)) {
    size = pread(fd.get(), header, sizeof header, 0);
  }
  if (size == 0) return false;
  if (size < static_cast<ssize_t>(sizeof header) ||
      std::string_view(reinterpret_cast<const char*>(header), 16) !=
          std::string_view("SQLite format 3\0", 16)) {
    return base::InvalidError("database " + file + " is not an SQLite database: name another file");
  }
  if (BigEndian(header + 68) != static_cast<std::uint32_t>(schema.application_id)) {
    return ForeignError(file);
  }
  const auto version = static_cast<std::int32_t>(BigEndian(header + 60));
  if (version > schema.version) return NewerError(file, version, schema);
  return true;
}

void RemoveWithLogs(const std::string& file) {
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) unlink((file + suffix).c_str());
}

base::Status SyncFolder(const std::string& file) {
  const std::string folder = std::filesystem::path(file).parent_path().string();
  const base::UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || fsync(fd.get()) != 0) {
    const int error = errno;
    return base::UnavailableError("database " + file + ": cannot sync its folder: " +
                                  SystemError(error) + ": check the disk");
  }
  return base::Status::Ok();
}

base::Status LockError(const std::string& file, const base::Status& why) {
  if (why.code() == base::Code::kConflict) {
    return base::ConflictError(file + " is in use by " + why.text() +
                               ": stop that process or use another file");
  }
  return base::UnavailableError("cannot lock " + file + ": " + why.text() +
                                ": make the file and its folder writable for this user, on a "
                                "local disk");
}

bool LogHasData(const std::string& file) {
  struct stat info {};
  return stat((file + "-wal").c_str(), &info) == 0 && info.st_size > 0;
}

}  // namespace

base::Result<std::unique_ptr<DatabaseFile>> DatabaseFile::Open(const std::string& file,
                                                               const Schema& schema, mode_t mode) {
  base::Result<std::string> path = AbsolutePath(file);
  if (!path.ok()) return path.status();
  base::Result<base::FileLock> lock = base::FileLock::Take(*path);
  if (!lock.ok()) return LockError(*path, lock.status());
  base::Result<bool> exists = Exists(*path, schema);
  if (!exists.ok()) return exists.status();

  std::unique_ptr<DatabaseFile> made(
      new DatabaseFile(*std::move(path), schema, std::move(lock).value()));
  if (!*exists) {
    base::Status status = made->Create(mode);
    if (!status.ok()) return status;
  }
  const bool stopped_hard = LogHasData(made->file_);
  base::Status status = made->Connect();
  if (status.ok() && stopped_hard) status = made->QuickCheck();
  if (!status.ok()) return status;
  return made;
}

DatabaseFile::~DatabaseFile() {
  const base::Status status = Close();
  if (!status.ok()) base::LogError(status.text());
}

// Creates the file under another name and renames it: it has its name only when it is complete.
base::Status DatabaseFile::Create(mode_t mode) {
  const std::string unfinished = file_ + ".new";
  RemoveWithLogs(unfinished);
  base::Status status = CreateNew(unfinished, mode);
  if (!status.ok()) {
    RemoveWithLogs(unfinished);
    return status;
  }
  // SQLite would replay the log of a removed database into the new one.
  for (const char* suffix : {"-wal", "-shm", "-journal"}) unlink((file_ + suffix).c_str());
  if (rename(unfinished.c_str(), file_.c_str()) != 0) {
    const int error = errno;
    RemoveWithLogs(unfinished);
    return base::UnavailableError("database " + file_ + ": cannot create it: " +
                                  SystemError(error) + ": make its folder writable for this user");
  }
  return SyncFolder(file_);
}

base::Status DatabaseFile::CreateNew(const std::string& path, mode_t mode) {
  base::Result<std::unique_ptr<Database>> opened = Database::Open(path, Database::Access::kCreate);
  if (!opened.ok()) return opened.status();
  Database& database = **opened;
  if (chmod(path.c_str(), mode) != 0) {
    const int error = errno;
    return base::UnavailableError("database " + path +
                                  ": cannot set its mode: " + SystemError(error));
  }
  Transaction transaction(&database);
  base::Status status = transaction.Begin(Transaction::Kind::kWrite);
  if (status.ok()) status = database.SetPragma("application_id", schema_.application_id);
  if (status.ok()) status = database.SetPragma("user_version", schema_.version);
  if (status.ok()) status = database.Exec(schema_.create_sql);
  if (status.ok()) status = transaction.Commit();
  // From here on the header of the file states that it has a log.
  if (status.ok()) status = database.SetWal();
  if (status.ok()) status = database.Close();
  return status;
}

bool DatabaseFile::usable() const {
  return database_ != nullptr && !moved_ && !database_->must_reopen() &&
         !database_->in_transaction();
}

base::Status DatabaseFile::Reopen() {
  // Keep the old connection: its descriptor may be the last access to the data (/proc/PID/fd).
  if (moved_ && access(file_.c_str(), F_OK) != 0) return MovedError(file_);
  if (database_ != nullptr) {
    // An error of the broken connection does not matter: a new connection replaces it.
    const base::Status closed = database_->Close();
    if (!closed.ok()) base::LogWarn(closed.text());
    database_.reset();
  }
  return Connect();
}

base::Status DatabaseFile::Connect() {
  base::Result<std::unique_ptr<Database>> opened =
      Database::Open(file_, Database::Access::kReadWrite);
  if (!opened.ok()) return opened.status();
  std::unique_ptr<Database> database = std::move(opened).value();
  // Before Admit has accepted the file, not even closing it may change it.
  base::Status status = database->SetCheckpointOnClose(false);
  if (status.ok()) status = Admit(database.get());
  if (status.ok()) status = database->KeepWalOnClose();
  if (status.ok()) status = database->SetCheckpointOnClose(true);
  if (status.ok()) status = database->SetWal();
  if (status.ok()) status = database->SetPragma("synchronous", 2);
  if (status.ok()) status = database->SetPragma("cache_size", -kCacheKib);
  if (status.ok()) status = database->SetPragma("journal_size_limit", kLogKeptBytes);
  if (!status.ok()) return status;
  // Replaces the automatic checkpoint, which would run in the middle of a commit.
  sqlite3_wal_hook(
      database->handle(),
      [](void* self, sqlite3*, const char*, int frames) {
        auto* file = static_cast<DatabaseFile*>(self);
        if (frames < file->log_) file->copied_ = 0;  // the log was restarted
        file->log_ = frames;
        return SQLITE_OK;
      },
      this);
  log_ = 0;
  copied_ = 0;
  moved_ = false;
  database_ = std::move(database);
  return base::Status::Ok();
}

// Checks the database including its log: the header of the file may not contain the newest version
// yet.
base::Status DatabaseFile::Admit(Database* database) {
  base::Result<std::int64_t> application = database->ReadInt("PRAGMA application_id");
  if (!application.ok()) return application.status();
  if (*application != schema_.application_id) return ForeignError(file_);
  base::Result<std::int64_t> version = database->ReadInt("PRAGMA user_version");
  if (!version.ok()) return version.status();
  if (*version > schema_.version) return NewerError(file_, *version, schema_);
  if (*version < schema_.version) return Migrate(database);
  return base::Status::Ok();
}

base::Status DatabaseFile::Migrate(Database* database) {
  Transaction transaction(database);
  base::Status status = transaction.Begin(Transaction::Kind::kWrite);
  if (!status.ok()) return status;
  base::Result<std::int64_t> found = database->ReadInt("PRAGMA user_version");
  if (!found.ok()) return found.status();
  std::int64_t version = *found;
  for (const Migration& migration : schema_.migrations) {
    if (migration.from != version) continue;
    status = database->Exec(migration.sql);
    if (!status.ok()) return status;
    ++version;
  }
  if (version != schema_.version) {
    return base::InvalidError("database " + file_ + " has schema version " +
                              std::to_string(*found) + ", which cannot be migrated to version " +
                              std::to_string(schema_.version) + ": name another file");
  }
  status = database->SetPragma("user_version", version);
  if (status.ok()) status = transaction.Commit();
  if (!status.ok()) return status;
  base::LogInfo("database " + file_ + ": migrated from schema version " + std::to_string(*found) +
                " to " + std::to_string(version));
  return base::Status::Ok();
}

// Limited to kQuickCheckTime, which a start can afford: a large database is checked in part.
base::Status DatabaseFile::QuickCheck() {
  auto until = std::chrono::steady_clock::now() + kQuickCheckTime;
  sqlite3_progress_handler(
      database_->handle(), 100'000,
      [](void* deadline) {
        return std::chrono::steady_clock::now() > *static_cast<decltype(until)*>(deadline) ? 1 : 0;
      },
      &until);
  std::string problem;
  base::Status status;
  {
    base::Result<Statement> check = Statement::Prepare(*database_, "PRAGMA quick_check(1)");
    if (!check.ok()) return check.status();
    Rows rows = check->Query();
    if (rows.Next()) problem = rows.Text(0);
    status = rows.status();
  }
  sqlite3_progress_handler(database_->handle(), 0, nullptr, nullptr);
  if (database_->must_reopen()) return status;
  if (problem.empty() || problem == "ok") return base::Status::Ok();  // empty: the time was over
  return base::InternalError("database " + file_ + " is damaged (" + problem +
                             "): check the disk, then restore a copy or move the file away");
}

base::Status DatabaseFile::CheckInPlace() {
  int moved = 0;
  const int code =
      sqlite3_file_control(database_->handle(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  if (code != SQLITE_OK || moved == 0) return base::Status::Ok();
  moved_ = true;
  return MovedError(file_);
}

void DatabaseFile::Idle() {
  if (log_ - copied_ >= kLogWorth) Checkpoint();
  if (database_ != nullptr) database_->ShrinkCache(kCacheKept);
}

void DatabaseFile::AfterCommit() {
  if (log_ - copied_ >= kLogUrgent) Checkpoint();
}

void DatabaseFile::Checkpoint() {
  if (database_ == nullptr) return;
  const base::Result<Database::Checkpointed> done = database_->Checkpoint();
  // Successful or not, the next attempt waits until the log has grown by as much again.
  copied_ = log_;
  if (!done.ok()) {
    if (!said_trouble_)
      base::LogWarn(done.status().text() + ": the log grows until a checkpoint succeeds");
    said_trouble_ = true;
    return;
  }
  said_trouble_ = false;
  const bool too_long = done->frames >= kLogLong && done->copied < done->frames;
  if (too_long && !said_long_) {
    base::LogWarn("database " + file_ + ": its log has grown to " +
                  std::to_string(done->frames / 256) +
                  " MiB because a reader does not end its transaction: close old sqlite3 shells");
  }
  said_long_ = too_long;
}

base::Status DatabaseFile::Close() {
  if (database_ == nullptr) return base::Status::Ok();
  base::Status status = database_->Close();
  if (status.ok()) database_.reset();
  return status;
}

}  // namespace assay::store

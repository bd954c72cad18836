#include "store/sqlite.h"

#include <sqlite3.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/log.h"

namespace assay::store {
namespace {

struct Explanation {
  base::Code code;
  const char* problem;
  const char* advice;
};

constexpr Explanation kDiskFull = {base::Code::kUnavailable, "the disk is full",
                                   "free some space there"};

Explanation Explain(int code, int system_error) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return kDiskFull;
    case SQLITE_READONLY:
      return {base::Code::kUnavailable, "it is read-only",
              "make the file and its folder writable for this user"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {base::Code::kUnavailable, "it is used by another process",
              "end the process that writes to it (read it with sqlite3 -readonly)"};
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {
          base::Code::kUnavailable, "it cannot be opened",
          "check that the file and its folder exist and are readable and writable for this user"};
    case SQLITE_NOTADB:
      return {base::Code::kInvalid, "it is not an SQLite database", "name another file"};
    case SQLITE_CORRUPT:
      return {base::Code::kInternal, "it is damaged",
              "check the disk, then restore a copy or move the file away"};
    case SQLITE_IOERR:
      if (system_error == ENOSPC || system_error == EDQUOT || system_error == EFBIG) {
        return kDiskFull;
      }
      return {base::Code::kUnavailable, "the disk reports an error",
              "check the disk and the system log"};
    case SQLITE_NOMEM:
      return {base::Code::kExhausted, "out of memory", "free some memory"};
    case SQLITE_TOOBIG:
      return {base::Code::kExhausted, "a value is too big", "use smaller values"};
    default:
      return {base::Code::kInternal, "unexpected error", "report it with this line"};
  }
}

std::string ErrorText(const std::string& file, std::string_view doing, const Explanation& why,
                      std::string_view sqlite_text, int system_error) {
  std::string text = "database " + file + ": cannot ";
  text.append(doing).append(": ").append(why.problem).append(" (").append(sqlite_text);
  if (system_error != 0) text.append(", ").append(std::generic_category().message(system_error));
  return text.append("): ").append(why.advice);
}

// Whether a connection cannot recover from the error. It recovers from I/O errors and full disks:
// they are rolled back, and the next commit overwrites what a failed sync left in the log.
bool LeavesConnectionUseless(int code) {
  switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_INTERNAL:
    case SQLITE_MISUSE:
    case SQLITE_PROTOCOL:
      return true;
    default:
      return false;
  }
}

int OpenFlags(Database::Access access) {
  switch (access) {
    case Database::Access::kReadOnly:
      return SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX;
    case Database::Access::kReadWrite:
      return SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    case Database::Access::kCreate:
      break;
  }
  return SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
}

}  // namespace

// --- Database ------------------------------------------------------------------------------------

base::Result<std::unique_ptr<Database>> Database::Open(const std::string& file, Access access) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(file.c_str(), &handle, OpenFlags(access), nullptr);
  std::unique_ptr<Database> database(new Database(file, handle));
  if (code != SQLITE_OK) return database->Failure(code, "open it");
  if (access != Access::kReadOnly && sqlite3_db_readonly(handle, "main") != 0) {
    return database->Failure(SQLITE_READONLY, "open it for writing");
  }
  base::Status status = database->Configure();
  if (!status.ok()) return status;
  return database;
}

Database::~Database() {
  const base::Status status = Close();
  if (!status.ok()) base::LogError(status.text());
}

base::Status Database::Configure() {
  sqlite3_extended_result_codes(handle_, 1);
  int code = sqlite3_busy_timeout(handle_, kBusyTimeoutMs);
  if (code != SQLITE_OK) return Failure(code, "set the busy timeout");
  const struct {
    int option;
    bool on;
    const char* name;
  } options[] = {{SQLITE_DBCONFIG_ENABLE_FKEY, true, "foreign keys"},
                 {SQLITE_DBCONFIG_DQS_DML, false, "double-quoted strings"},
                 {SQLITE_DBCONFIG_DQS_DDL, false, "double-quoted strings"},
                 {SQLITE_DBCONFIG_TRUSTED_SCHEMA, false, "trusted schema"},
                 {SQLITE_DBCONFIG_DEFENSIVE, true, "defensive mode"}};
  for (const auto& option : options) {
    base::Status status = SetOption(option.option, option.on, option.name);
    if (!status.ok()) return status;
  }
  // MEMORY: statement journals and sorts never need space on another disk.
  return SetPragma("temp_store", 2);
}

base::Status Database::SetOption(int option, bool on, const char* name) {
  int now = -1;
  const int code = sqlite3_db_config(handle_, option, on ? 1 : 0, &now);
  if (code != SQLITE_OK || now != (on ? 1 : 0)) {
    return Failure(code == SQLITE_OK ? SQLITE_ERROR : code, std::string("set ") + name);
  }
  return base::Status::Ok();
}

base::Status Database::SetCheckpointOnClose(bool on) {
  return SetOption(SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !on, "the checkpoint on close");
}

base::Status Database::KeepWalOnClose() {
  int on = 1;
  int code = sqlite3_file_control(handle_, "main", SQLITE_FCNTL_PERSIST_WAL, &on);
  int now = -1;
  if (code == SQLITE_OK) {
    code = sqlite3_file_control(handle_, "main", SQLITE_FCNTL_PERSIST_WAL, &now);
  }
  if (code == SQLITE_OK && now != 1) code = SQLITE_ERROR;
  return code == SQLITE_OK ? base::Status::Ok() : Failure(code, "keep the log on close");
}

base::Status Database::Close() {
  if (handle_ == nullptr) return base::Status::Ok();
  const int code = sqlite3_close(handle_);
  if (code != SQLITE_OK) return Failure(code, "close it");
  handle_ = nullptr;
  return base::Status::Ok();
}

base::Status Database::Exec(const char* sql) {
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  if (code == SQLITE_OK) return base::Status::Ok();
  return Failure(code, "run \"" + std::string(std::string_view(sql).substr(0, 60)) + '"');
}

base::Result<std::int64_t> Database::ReadInt(std::string_view sql) {
  base::Result<Statement> statement = Statement::Prepare(*this, sql);
  if (!statement.ok()) return statement.status();
  Rows rows = statement->Query();
  if (rows.Next()) return rows.Int(0);
  if (!rows.status().ok()) return rows.status();
  return base::NotFoundError("database " + file_ + ": \"" + std::string(sql) + "\" has no row");
}

base::Status Database::SetPragma(std::string_view name, std::int64_t value) {
  const std::string read = "PRAGMA " + std::string(name);
  const std::string text = read + '=' + std::to_string(value);
  base::Status status = Exec(text.c_str());
  if (!status.ok()) return status;
  base::Result<std::int64_t> now = ReadInt(read);
  if (!now.ok()) return now.status();
  if (*now != value) {
    return base::InternalError("database " + file_ + ": " + text +
                               " has no effect: the value is still " + std::to_string(*now));
  }
  return base::Status::Ok();
}

base::Status Database::SetWal() {
  base::Result<Statement> statement = Statement::Prepare(*this, "PRAGMA journal_mode=WAL");
  if (!statement.ok()) return statement.status();
  Rows rows = statement->Query();
  const bool done = rows.Next() && rows.Text(0) == "wal";
  if (!rows.status().ok()) return rows.status();
  if (done) return base::Status::Ok();
  return base::UnsupportedError(
      "database " + file_ + ": cannot use a write-ahead log here: put the file on a local disk");
}

base::Result<Database::Checkpointed> Database::Checkpoint() {
  Checkpointed done;
  const int code = sqlite3_wal_checkpoint_v2(handle_, "main", SQLITE_CHECKPOINT_PASSIVE,
                                             &done.frames, &done.copied);
  if (code != SQLITE_OK) return Failure(code, "checkpoint");
  return done;
}

void Database::ShrinkCache(int bytes) {
  int used = 0;
  int highest = 0;
  const int code =
      sqlite3_db_status(handle_, SQLITE_DBSTATUS_CACHE_USED, &used, &highest, /*reset=*/0);
  if (code == SQLITE_OK && used > bytes) sqlite3_db_release_memory(handle_);
}

bool Database::in_transaction() const {
  return handle_ != nullptr && sqlite3_get_autocommit(handle_) == 0;
}

std::int64_t Database::changes() const { return sqlite3_changes(handle_); }

base::Status Database::Failure(int code, std::string_view doing) const {
  if (LeavesConnectionUseless(code)) must_reopen_ = true;
  // The connection's own text has more detail, if it is about this error.
  const bool mine = handle_ != nullptr && (sqlite3_errcode(handle_) & 0xff) == (code & 0xff);
  const char* text = mine ? sqlite3_errmsg(handle_) : sqlite3_errstr(code);
  const bool from_system = (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN;
  const int system_error = mine && from_system ? sqlite3_system_errno(handle_) : 0;
  const Explanation why = Explain(code, system_error);
  return {why.code, ErrorText(file_, doing, why, text, system_error)};
}

// --- Statement -----------------------------------------------------------------------------------

base::Result<Statement> Statement::Prepare(Database& database, std::string_view sql) {
  Statement statement;
  statement.database_ = &database;
  const int code = sqlite3_prepare_v3(database.handle(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement.handle_, nullptr);
  if (code != SQLITE_OK) {
    return database.Failure(code, "prepare \"" + std::string(sql.substr(0, 60)) + '"');
  }
  statement.parameters_ = sqlite3_bind_parameter_count(statement.handle_);
  return statement;
}

Statement::~Statement() { sqlite3_finalize(handle_); }

Statement::Statement(Statement&& other) noexcept
    : database_(other.database_),
      handle_(std::exchange(other.handle_, nullptr)),
      parameters_(other.parameters_) {}

Statement& Statement::operator=(Statement&& other) noexcept {
  if (this != &other) {
    sqlite3_finalize(handle_);
    database_ = other.database_;
    handle_ = std::exchange(other.handle_, nullptr);
    parameters_ = other.parameters_;
  }
  return *this;
}

int Statement::BindInt(int index, std::int64_t value) {
  return sqlite3_bind_int64(handle_, index, value);
}

int Statement::BindOne(int index, std::string_view text) {
  // A null pointer would be bound as NULL.
  const char* data = text.data() == nullptr ? "" : text.data();
  return sqlite3_bind_text64(handle_, index, data, text.size(), SQLITE_STATIC, SQLITE_UTF8);
}

int Statement::BindOne(int index, std::nullopt_t) { return sqlite3_bind_null(handle_, index); }

base::Status Statement::Failure(int code) const {
  return database_->Failure(code, sqlite3_stmt_readonly(handle_) != 0 ? "read" : "write");
}

base::Status Statement::Finish(int bind_code) {
  int code = bind_code;
  if (code == SQLITE_OK) {
    do {
      code = sqlite3_step(handle_);
    } while (code == SQLITE_ROW);
  }
  if (code == SQLITE_DONE) {
    sqlite3_reset(handle_);
    return base::Status::Ok();
  }
  base::Status status = Failure(code);
  sqlite3_reset(handle_);
  return status;
}

// --- Rows ----------------------------------------------------------------------------------------

Rows::Rows(Statement* statement, int bind_code) : statement_(statement) {
  assert(sqlite3_stmt_busy(statement->handle_) == 0);
  if (bind_code != SQLITE_OK) {
    done_ = true;
    status_ = statement->Failure(bind_code);
  }
}

Rows::~Rows() { sqlite3_reset(statement_->handle_); }

bool Rows::Next() {
  if (done_) return false;
  const int code = sqlite3_step(statement_->handle_);
  if (code == SQLITE_ROW) return true;
  done_ = true;
  if (code != SQLITE_DONE) status_ = statement_->Failure(code);
  return false;
}

std::int64_t Rows::Int(int column) const {
  return sqlite3_column_int64(statement_->handle_, column);
}

std::string_view Rows::Text(int column) const {
  const auto* text =
      reinterpret_cast<const char*>(sqlite3_column_text(statement_->handle_, column));
  if (text == nullptr) return {};
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement_->handle_, column))};
}

bool Rows::IsNull(int column) const {
  return sqlite3_column_type(statement_->handle_, column) == SQLITE_NULL;
}

// --- Transaction ---------------------------------------------------------------------------------

Transaction::~Transaction() {
  if (!database_.in_transaction()) return;
  const base::Status status = database_.Exec("ROLLBACK");
  if (!status.ok()) base::LogError(status.text());
}

base::Status Transaction::Begin(Kind kind) {
  return database_.Exec(kind == Kind::kWrite ? "BEGIN IMMEDIATE" : "BEGIN");
}

base::Status Transaction::Commit() { return database_.Exec("COMMIT"); }

}  // namespace assay::store

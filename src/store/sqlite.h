// A thin layer over SQLite's C API: a connection, prepared statements, transactions.
//
// Every connection has extended result codes, foreign keys on, double-quoted strings off, an
// untrusted schema and a busy timeout; every option and PRAGMA that is set is read back. Errors
// name the file, the operation, SQLite's text and the remedy.
//
// Thread safety: none; a connection and its statements belong to one thread at a time. Lifetime: a
// Database outlives its Statements, a Statement its Rows.
#pragma once

#include <array>
#include <cassert>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace assay::store {

// How long a call waits for another process that holds the database.
inline constexpr int kBusyTimeoutMs = 2'000;

class Database {
 public:
  enum class Access { kReadOnly, kReadWrite, kCreate };

  // kReadWrite fails on a file that can only be read (SQLite alone would fall back silently).
  static base::Result<std::unique_ptr<Database>> Open(const std::string& file, Access access);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  base::Status Close();  // fails while a Statement is alive

  base::Status Exec(const char* sql);  // one or more statements; their rows are dropped
  base::Result<std::int64_t> ReadInt(std::string_view sql);  // the first column of the first row
  base::Status SetPragma(std::string_view name, std::int64_t value);  // and reads it back
  base::Status SetWal();
  base::Status SetCheckpointOnClose(bool on);
  base::Status KeepWalOnClose();

  // Copies as much of the log into the database as is possible without waiting for other
  // connections.
  struct Checkpointed {
    int frames = 0;  // length of the log
    int copied = 0;  // of these are in the database now
  };
  base::Result<Checkpointed> Checkpoint();

  // Frees the page cache if it takes more than `bytes`.
  void ShrinkCache(int bytes);

  bool in_transaction() const;
  std::int64_t changes() const;  // rows that the last INSERT, UPDATE or DELETE changed directly
  const std::string& file() const { return file_; }
  sqlite3* handle() const { return handle_; }

  // The error of a call that returned `code`. `doing` completes "cannot ...".
  base::Status Failure(int code, std::string_view doing) const;
  // True if a failure since Open may have left the connection unusable (damage, a replaced file).
  // Open a new one then.
  bool must_reopen() const { return must_reopen_; }

 private:
  Database(std::string file, sqlite3* handle) : file_(std::move(file)), handle_(handle) {}
  base::Status Configure();
  base::Status SetOption(int option, bool on, const char* name);

  const std::string file_;
  sqlite3* handle_;
  mutable bool must_reopen_ = false;
};

class Rows;

// A prepared statement: prepared once, run often. Parameters are bound in order: integers, enums,
// bools, texts, std::nullopt (NULL) and optionals. Bound texts are not copied: they must live until
// Run returns or the Rows are destroyed.
class Statement {
 public:
  Statement() = default;
  static base::Result<Statement> Prepare(Database& database, std::string_view sql);
  ~Statement();
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;

  // Runs the statement to its end and drops its rows. Resets the statement in every case.
  template <class... Args>
  base::Status Run(const Args&... args) {
    return Finish(Bind(args...));
  }
  // REQUIRES: no other Rows of this statement are alive.
  template <class... Args>
  Rows Query(const Args&... args);

 private:
  friend class Rows;

  template <class... Args>
  int Bind(const Args&... args) {
    assert(handle_ != nullptr);
    assert(parameters_ == static_cast<int>(sizeof...(args)));
    int index = 0;
    int code = 0;
    ((code = code == 0 ? BindOne(++index, args) : code), ...);
    return code;
  }
  template <class T>
  requires(std::integral<T> || std::is_enum_v<T>) int BindOne(int index, T value) {
    return BindInt(index, static_cast<std::int64_t>(value));
  }
  int BindOne(int index, std::string_view text);
  int BindOne(int index, std::nullopt_t);
  template <class T>
  int BindOne(int index, const std::optional<T>& value) {
    return value ? BindOne(index, *value) : BindOne(index, std::nullopt);
  }
  int BindInt(int index, std::int64_t value);
  base::Status Finish(int bind_code);
  base::Status Failure(int code) const;

  Database* database_ = nullptr;
  sqlite3_stmt* handle_ = nullptr;
  int parameters_ = 0;
};

// The rows of one query. The destructor resets the statement: one that was stepped and not reset
// pins the log and breaks checkpoints.
//
//   Rows rows = statement.Query(7);
//   while (rows.Next()) use(rows.Int(0), rows.Text(1));
//   if (!rows.status().ok()) return rows.status();
class Rows {
 public:
  ~Rows();
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  bool Next();  // false: no more rows, or an error
  const base::Status& status() const { return status_; }

  std::int64_t Int(int column) const;       // NULL: 0
  std::string_view Text(int column) const;  // valid until Next; NULL: ""
  bool IsNull(int column) const;

 private:
  friend class Statement;
  Rows(Statement* statement, int bind_code);

  Statement* statement_;
  bool done_ = false;
  base::Status status_;
};

template <class... Args>
Rows Statement::Query(const Args&... args) {
  return Rows(this, Bind(args...));
}

// A transaction. The destructor rolls back what Commit has not committed.
class Transaction {
 public:
  enum class Kind {
    kWrite,  // takes the write lock at once: a later upgrade fails regardless of the timeout
    kRead,   // one consistent view of the database
  };
  explicit Transaction(Database* database) : database_(*database) {}
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  base::Status Begin(Kind kind);
  base::Status Commit();  // after an error the destructor rolls back

 private:
  Database& database_;
};

}  // namespace assay::store

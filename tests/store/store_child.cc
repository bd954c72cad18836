// The child process of the store's tests:
//
//   commit FILE SEED FROM   commit batch FROM, FROM + 1, ... of the seed's records until killed;
//                           print each number once its batch is committed
//   hold FILE               open the store, print "open" or the error; close it at the end of input
//   read FILE SQL           print the first column of the rows, or the error
//   begin FILE SQL          like read, in a transaction that stays open until the end of input
//   full DIR                mount a small file system on DIR, fill it and check the store on it
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "base/log.h"
#include "store/sqlite.h"
#include "store/store.h"
#include "tests/store/record_source.h"
#include "tests/support/durable_text.h"

using namespace assay::base;
using namespace assay::core;
using namespace assay::store;
using namespace assay::support;

namespace {

constexpr int kSkipped = 77;

void Say(const std::string& text) {
  const std::string line = text + '\n';
  if (write(STDOUT_FILENO, line.data(), line.size()) < 0) std::exit(3);
}

void AwaitEndOfInput() {
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
}

int CommitForEver(const std::string& file, std::uint64_t seed, int from) {
  Result<std::unique_ptr<Store>> store = Store::Open(file);
  if (!store.ok()) {
    Say(store.status().text());
    return 1;
  }
  BatchSequence batches(seed);
  for (int i = 0; i < from; ++i) batches.Next();
  for (int i = from;; ++i) {
    const Status status = (*store)->Commit(batches.Next());
    if (!status.ok()) {
      Say(status.text());
      return 1;
    }
    Say(std::to_string(i));
    if (i % 4 == 0) (*store)->Idle();
  }
}

int Hold(const std::string& file) {
  Result<std::unique_ptr<Store>> store = Store::Open(file);
  Say(store.ok() ? "open" : store.status().text());
  if (!store.ok()) return 1;
  AwaitEndOfInput();
  return (*store)->Close().ok() ? 0 : 1;
}

int Read(const std::string& file, const std::string& sql, bool stay) {
  Result<std::unique_ptr<Database>> database = Database::Open(file, Database::Access::kReadOnly);
  Status status = database.status();
  if (database.ok()) {
    Transaction transaction(database->get());
    status = transaction.Begin(Transaction::Kind::kRead);
    Result<Statement> select = Statement::Prepare(**database, sql);
    if (!select.ok()) status = select.status();
    if (status.ok()) {
      Rows rows = select->Query();
      while (rows.Next()) Say(std::string(rows.Text(0)));
      status = rows.status();
    }
    if (status.ok() && stay) AwaitEndOfInput();
  }
  if (!status.ok()) Say(status.text());
  return status.ok() ? 0 : 1;
}

// Uses its own mount namespace, so that the mount ends with the process.
int FillDisk(const std::string& dir) {
  if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("tmpfs", dir.c_str(), "tmpfs", 0, "size=3m") != 0) {
    return kSkipped;
  }
  Result<std::unique_ptr<Store>> store = Store::Open(dir + "/assay.db");
  if (!store.ok()) return 10;
  RecordModel model;
  RecordSource source(7);
  {
    std::ofstream ballast(dir + "/ballast");
    ballast << std::string(1'000'000, 'x');
  }
  int failures = 0;
  for (int i = 0; i < 2'000; ++i) {
    const std::vector<Record> batch = source.Batch(model, 10);
    const Status status = (*store)->Commit(batch);
    if (status.ok()) {
      for (const Record& record : batch) model.Apply(record);
      continue;
    }
    if (status.text().find("the disk is full") == std::string::npos) return 11;
    const Result<Durable> durable = (*store)->Load();
    if (!durable.ok()) return 12;
    if (DurableText(*durable) != DurableText(model.Stored())) return 13;
    (*store)->Idle();
    if (++failures == 5) unlink((dir + "/ballast").c_str());
    if (failures == 6) break;
  }
  if (failures < 5) return 14;
  // A store opened on a full disk loads what it contains.
  store = Result<std::unique_ptr<Store>>(InternalError("closed"));
  store = Store::Open(dir + "/assay.db");
  if (!store.ok()) {
    Say(store.status().text());
    return 15;
  }
  const Result<Durable> durable = (*store)->Load();
  if (!durable.ok() || DurableText(*durable) != DurableText(model.Stored())) return 16;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  SetLogLevel(LogLevel::kOff);
  const std::string what = argc > 2 ? argv[1] : "";
  const std::string file = argc > 2 ? argv[2] : "";
  if (what == "commit" && argc == 5) {
    return CommitForEver(file, std::strtoull(argv[3], nullptr, 10), std::atoi(argv[4]));
  }
  if (what == "hold") return Hold(file);
  if (what == "read" && argc == 4) return Read(file, argv[3], false);
  if (what == "begin" && argc == 4) return Read(file, argv[3], true);
  if (what == "full") return FillDisk(file);
  return 2;
}

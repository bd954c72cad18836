#include "tests/store/fault_vfs.h"

#include <sqlite3.h>

#include <cstring>

namespace assay::store {
namespace {

struct Plan {
  FaultVfs::Calls calls = FaultVfs::Calls::kAll;
  int left = 0;  // calls until the failure; 0: none fails
  int code = SQLITE_OK;
  bool on = false;
  bool failed = false;
};
Plan plan;
int read_count = 0;
sqlite3_vfs* real_vfs = nullptr;

int Fault(bool sync) {
  if (plan.left == 0 || (plan.calls == FaultVfs::Calls::kSyncs && !sync)) return SQLITE_OK;
  if (--plan.left > 0) return SQLITE_OK;
  plan.failed = true;
  if (plan.on) plan.left = 1;
  return plan.code;
}

// SQLite allocates szOsFile bytes: this struct, followed by the real file.
struct File {
  sqlite3_file base;
  sqlite3_file* real;
};
sqlite3_file* Real(sqlite3_file* file) { return reinterpret_cast<File*>(file)->real; }

int Close(sqlite3_file* file) { return Real(file)->pMethods->xClose(Real(file)); }
int Read(sqlite3_file* file, void* data, int size, sqlite3_int64 at) {
  ++read_count;
  return Real(file)->pMethods->xRead(Real(file), data, size, at);
}
int Write(sqlite3_file* file, const void* data, int size, sqlite3_int64 at) {
  const int code = Fault(false);
  return code != SQLITE_OK ? code : Real(file)->pMethods->xWrite(Real(file), data, size, at);
}
int Truncate(sqlite3_file* file, sqlite3_int64 size) {
  const int code = Fault(false);
  return code != SQLITE_OK ? code : Real(file)->pMethods->xTruncate(Real(file), size);
}
int Sync(sqlite3_file* file, int flags) {
  const int code = Fault(true);
  return code != SQLITE_OK ? code : Real(file)->pMethods->xSync(Real(file), flags);
}
int FileSize(sqlite3_file* file, sqlite3_int64* size) {
  return Real(file)->pMethods->xFileSize(Real(file), size);
}
int Lock(sqlite3_file* file, int lock) { return Real(file)->pMethods->xLock(Real(file), lock); }
int Unlock(sqlite3_file* file, int lock) { return Real(file)->pMethods->xUnlock(Real(file), lock); }
int CheckReservedLock(sqlite3_file* file, int* out) {
  return Real(file)->pMethods->xCheckReservedLock(Real(file), out);
}
int FileControl(sqlite3_file* file, int op, void* argument) {
  return Real(file)->pMethods->xFileControl(Real(file), op, argument);
}
int SectorSize(sqlite3_file* file) { return Real(file)->pMethods->xSectorSize(Real(file)); }
int Characteristics(sqlite3_file* file) {
  return Real(file)->pMethods->xDeviceCharacteristics(Real(file));
}
int ShmMap(sqlite3_file* file, int page, int size, int extend, void volatile** out) {
  const int code = extend != 0 ? Fault(false) : SQLITE_OK;
  if (code != SQLITE_OK) return code;
  return Real(file)->pMethods->xShmMap(Real(file), page, size, extend, out);
}
int ShmLock(sqlite3_file* file, int offset, int n, int flags) {
  return Real(file)->pMethods->xShmLock(Real(file), offset, n, flags);
}
void ShmBarrier(sqlite3_file* file) { Real(file)->pMethods->xShmBarrier(Real(file)); }
int ShmUnmap(sqlite3_file* file, int remove) {
  return Real(file)->pMethods->xShmUnmap(Real(file), remove);
}

const sqlite3_io_methods kMethods = {2,
                                     Close,
                                     Read,
                                     Write,
                                     Truncate,
                                     Sync,
                                     FileSize,
                                     Lock,
                                     Unlock,
                                     CheckReservedLock,
                                     FileControl,
                                     SectorSize,
                                     Characteristics,
                                     ShmMap,
                                     ShmLock,
                                     ShmBarrier,
                                     ShmUnmap,
                                     nullptr,
                                     nullptr};

int Open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  auto* opened = reinterpret_cast<File*>(file);
  opened->base.pMethods = nullptr;
  opened->real = reinterpret_cast<sqlite3_file*>(opened + 1);
  std::memset(opened->real, 0, static_cast<std::size_t>(real_vfs->szOsFile));
  const int code = real_vfs->xOpen(real_vfs, name, opened->real, flags, out_flags);
  if (code == SQLITE_OK) opened->base.pMethods = &kMethods;
  return code;
}
int Delete(sqlite3_vfs*, const char* name, int sync) {
  const int code = Fault(false);
  return code != SQLITE_OK ? code : real_vfs->xDelete(real_vfs, name, sync);
}

}  // namespace

struct FaultVfs::Impl {
  sqlite3_vfs vfs{};
};

FaultVfs::FaultVfs() : impl_(std::make_unique<Impl>()) {
  real_vfs = sqlite3_vfs_find(nullptr);
  impl_->vfs = *real_vfs;  // the functions not replaced ignore their first argument
  impl_->vfs.szOsFile = static_cast<int>(sizeof(File)) + real_vfs->szOsFile;
  impl_->vfs.zName = "fault";
  impl_->vfs.pNext = nullptr;
  impl_->vfs.xOpen = Open;
  impl_->vfs.xDelete = Delete;
  plan = Plan();
  sqlite3_vfs_register(&impl_->vfs, 1);
}

FaultVfs::~FaultVfs() {
  sqlite3_vfs_unregister(&impl_->vfs);
  sqlite3_vfs_register(real_vfs, 1);
}

void FaultVfs::FailAt(Calls calls, int nth, int code, bool on) {
  plan = {calls, nth, code, on, false};
}
void FaultVfs::Heal() { plan.left = 0; }
bool FaultVfs::failed() const { return plan.failed; }
int FaultVfs::reads() const { return read_count; }

}  // namespace assay::store

// The coordinator, one per cluster. It owns the store, the control loop, the fan-out and the gRPC
// server.
//
//   Result<std::unique_ptr<Coordinator>> coordinator = Coordinator::Start(options);
//   if (!coordinator.ok()) ...   // everything it started is stopped and freed
//   ... wait for a signal ...
//   (*coordinator)->Stop();
//
// It serves ClusterD's Recover and job.Job, the agents' Fleet, the operators' Admin, and gRPC's
// health and reflection services on one port, without encryption. It listens beyond loopback only
// with the `insecure` option.
//
// Thread safety: Start, Stop and the destructor from one thread, which must not be one of gRPC's.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/host_port.h"
#include "base/status.h"
#include "control/intake.h"
#include "core/cluster/cluster.h"
#include "store/storage.h"

namespace assay::coordinator {

struct CoordinatorOptions {
  std::string listen = base::kCoordinatorAddress;  // port 0: the system chooses a free one
  bool insecure = false;  // allow listening beyond loopback without encryption
  std::string db;         // database file; its directory must exist
  std::string port_file;  // file that gets host:port once the server answers; "": none
  std::string jobs_dir;   // directory of job files (jobs_directory.h); "": none
  core::Settings settings;
  // Milliseconds after which a connection that neither reads nor answers pings is closed.
  core::Ms idle_timeout = 120'000;
  // Bytes of job signals that may be unwritten per subscriber. Further changes are conflated and
  // sent when the client has read.
  std::size_t subscriber_buffer = std::size_t{1} << 20;
  int fanout_workers = 0;  // 0: chosen by the number of processors
  control::IntakeLimits limits;
  // For tests that need a failing store: takes the real one and returns the one to use.
  std::function<std::unique_ptr<store::Storage>(std::unique_ptr<store::Storage>)> wrap_storage;
};

class Coordinator {
 public:
  // Returns once it serves. kInvalid: an option is wrong; kConflict: the port or the database is in
  // use.
  static base::Result<std::unique_ptr<Coordinator>> Start(CoordinatorOptions options);
  ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  // "host:port" for clients, with the actual port.
  std::string address() const;

  // Refuses new calls and streams, ends every stream with UNAVAILABLE, waits at most two seconds
  // for calls in progress and then cancels them, commits every accepted command and closes the
  // store. May be called again. Returns an error if closing the store failed.
  base::Status Stop();

 private:
  class Impl;
  explicit Coordinator(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::coordinator

// The coordinator: one a cluster. Owns the store, the control loop, the fan-out and the gRPC
// server.
//
//   Result<std::unique_ptr<Coordinator>> coordinator = Coordinator::Start(options);
//   if (!coordinator.ok()) ...   // nothing of it is left
//   ... wait for a signal ...
//   (*coordinator)->Stop();
//
// It serves ClusterD's Recover and job.Job, the agents' Fleet, the operators' Admin, gRPC's health
// and reflection, on one port, in plain text: beyond loopback only on demand.
//
// Thread safety: Start, Stop and the destructor from one thread, which must not be one of gRPC's.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "control/intake.h"
#include "core/cluster/cluster.h"
#include "store/storage.h"

namespace assay {

struct CoordinatorOptions {
  std::string listen = "127.0.0.1:8899";  // port 0: a free one
  bool insecure = false;                  // may listen beyond loopback without encryption
  std::string db;                         // file; its folder must exist
  std::string port_file;  // host:port goes here once the server answers; "": nowhere
  std::string jobs_dir;   // files ID.json are jobs (jobs_directory.h); "": there is none
  Settings settings;
  // A connection that takes nothing and answers no ping is closed after so long; milliseconds.
  Ms idle_timeout = 120'000;
  // Bytes of job signals that wait for one subscriber; what more there is, it gets when it has
  // read.
  std::size_t subscriber_buffer = std::size_t{1} << 20;
  int fanout_workers = 0;  // 0: by the number of processors
  IntakeLimits limits;
  // For tests that need a store that fails: gets the real one, gives what is used.
  std::function<std::unique_ptr<Storage>(std::unique_ptr<Storage>)> wrap_storage;
};

class Coordinator {
 public:
  // Returns when it serves. kInvalid: an option; kConflict: the port or database is in use.
  static Result<std::unique_ptr<Coordinator>> Start(CoordinatorOptions options);
  ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  // "host:port" as clients use it, with the port that was taken.
  std::string address() const;

  // Refuses newcomers, ends every stream with UNAVAILABLE, lets calls under way finish (two seconds
  // at most, then they are cancelled), stores what was accepted, closes the store. May be called
  // again. An error: the store could not be closed well.
  Status Stop();

 private:
  class Impl;
  explicit Coordinator(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay

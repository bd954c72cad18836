// The host's p2p test: every device writes its pattern into each peer's buffer, reads each peer's
// pattern from that peer's buffer, and checks both copies word by word. It copies whole buffers at
// a time, so that the data goes through memory and not only a core's own cache.
//
// Each round copies a different piece of the source to each position, so the test detects a copy
// that did not happen. The peers need no common clock or barrier: a source never changes, and only
// one process writes and checks a slot.
//
// On a mismatch (docs/design.md, decision 10) the test reads the word again and, if it is still
// wrong, copies the page again on the same core:
//   faulty   the word is right now, or wrong in another way: the hardware was wrong before
//   faulty   a word of the device's own source changed: the device read it back after writing it,
//            and no other process writes there
//   not_run  the same wrong value again; the detail has the values
//   not_run  the peer's source is wrong: the peer's own test has to report it; the detail names the
//            peer
// The test runs to its end whatever it finds, with every peer and core that can take part, and a
// proven fault decides (verdict.h).
//
// Thread safety: none; Run uses one thread per core and joins them.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "driver/driver.h"
#include "driver/host/fault.h"
#include "driver/host/shared_buffer.h"

namespace assay::driver::host {

struct CopiesTest {
  std::vector<int> cores;
  std::chrono::milliseconds duration{0};
  Fault fault;  // the fault planted for this device and op, or none
};

class Copies {
 public:
  // Creates this device's buffer and fills it from the device's own cores. Fails if none of them
  // can run.
  static base::Result<std::unique_ptr<Copies>> Prepare(CopiesTest test, const P2pGroup& group);

  const std::string& blob() const { return own_.token(); }

  // REQUIRES: blobs.size() == number of members. Call it once.
  OpReport Run(const std::vector<std::string>& blobs, Progress* progress);

 private:
  Copies(CopiesTest test, P2pGroup group, SharedBuffer own, base::Status filled);

  const CopiesTest test_;
  const P2pGroup group_;
  SharedBuffer own_;
  const base::Status filled_;  // an error: a core of the device could not run
};

}  // namespace assay::driver::host

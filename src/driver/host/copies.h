// The host's p2p test: every device writes its pattern into each peer's buffer, reads each peer's
// pattern from it, and checks both copies word by word; whole buffers at a time, so that the data
// goes through memory and not only a core's own cache.
//
// Each round takes another piece of the source to another place, so a copy that did not happen is
// seen. The peers need no clock or barrier in common: a source never changes, and a slot is written
// and checked by one process only.
//
// What a mismatch means (docs/design.md, decision 10): the word is read again, and if need be the
// page copied anew, on the same core. If that comes out right, the hardware was wrong before:
// faulty. So it is when a word of the device's own source changed, which was read back when it was
// written and which nobody writes to. The same wrong value again is not_run, with what was seen. A
// peer whose source is wrong is that peer's trouble: here not_run, naming the peer.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "driver/driver.h"
#include "driver/host/fault.h"
#include "driver/host/shared_buffer.h"

namespace assay::driver {

struct CopiesTest {
  std::vector<int> cores;
  std::chrono::milliseconds duration{0};
  Fault fault;  // of this device and op, or none
};

class Copies {
 public:
  // Makes and fills this device's buffer, from the device's own cores: its memory is near them.
  static Result<std::unique_ptr<Copies>> Prepare(CopiesTest test, const P2pGroup& group);

  const std::string& blob() const { return own_.token(); }

  // REQUIRES: blobs.size() == number of members. Once.
  OpReport Run(const std::vector<std::string>& blobs, Progress* progress);

 private:
  Copies(CopiesTest test, P2pGroup group, SharedBuffer own);

  const CopiesTest test_;
  const P2pGroup group_;
  SharedBuffer own_;
};

}  // namespace assay::driver

// Job signals as bytes (docs/wire.md 6). A large rank table is not copied: the message's bytes
// refer to the one that the job has, and a list's bytes refer to those of the messages in it.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "control/ports.h"
#include "core/signal.h"

namespace assay {

EncodedMessage EncodeJobSignal(const Signal& signal, const std::string& uuid);
EncodedMessage EncodeJobSignalList(const std::vector<EncodedMessage>& signals, Ms report_time,
                                   std::size_t total);

}  // namespace assay

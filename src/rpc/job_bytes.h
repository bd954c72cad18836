// Encodes job signals (docs/wire.md 6). A large rank table is not copied: the message's bytes refer
// to the signal's table and share its ownership, and a list's bytes refer to those of its messages.
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

// Encodes job signals (docs/wire.md 6). A large rank table is not copied: the message's bytes refer
// to the signal's table and share its ownership, and a list's bytes refer to those of its messages.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "control/ports.h"
#include "core/signal.h"

namespace assay::rpc {

control::EncodedMessage EncodeJobSignal(const core::Signal& signal, const std::string& uuid);
control::EncodedMessage EncodeJobSignalList(const std::vector<control::EncodedMessage>& signals,
                                            core::Ms report_time, std::size_t total);

}  // namespace assay::rpc

// What a machine says of itself, so that a rank table's node finds its agent: names and addresses.
//
// Thread safety: any thread.
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

#include "core/model.h"

namespace assay {

// Host name, FQDN and addresses are filled in; nothing else. Never fails: what cannot be found out
// stays empty. Asks name service for the FQDN, for at most fqdn_wait.
Node MachineFacts(Ms fqdn_wait);

// The address as text, or "" for one by which no other machine can know this one: loopback,
// link-local, unspecified, not IP.
std::string ReportedAddress(const sockaddr* address);

// Every reported address of interfaces that are up, each once, in a stable order.
std::vector<std::string> ReportedAddresses();

}  // namespace assay

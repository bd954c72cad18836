// The names and addresses of this machine, by which the coordinator matches an agent to the node of
// a rank table.
//
// Thread safety: any thread.
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

#include "core/model.h"

namespace assay::agent {

// Fills in host name, FQDN and addresses, nothing else. Never fails: a value that cannot be
// determined stays empty. Waits at most fqdn_wait ms for the name service to return the FQDN.
core::Node MachineFacts(core::Ms fqdn_wait);

// The address as text, or empty for an address by which no other machine can identify this one:
// loopback, link-local, unspecified, not IP.
std::string ReportedAddress(const sockaddr* address);

// Every reported address of the interfaces that are up, each once, sorted.
std::vector<std::string> ReportedAddresses();

}  // namespace assay::agent

// Rows that both the loader (load.h) and the queries (queries.h) read: their columns, and their
// conversion to the core's values.
//
// Thread safety: pure functions of the rows.
#pragma once

#include "core/model.h"
#include "store/sqlite.h"

namespace assay::store {

// The first columns of the tables `jobs` and `deleted_jobs`.
inline constexpr char kSpecColumns[] =
    "job, name, namespace, framework, state, master_addr, shared_tor_ip";

// REQUIRES: the columns of rows begin with kSpecColumns. Returns false if the state is unknown.
bool ReadSpec(const Rows& rows, core::JobSpec* spec, core::JobState* state);

inline constexpr char kNodeColumns[] =
    "node, attached, since, identity, version, host_name, fqdn, driver, addresses";

// Reads a node without its devices. REQUIRES: the columns of rows are kNodeColumns. Returns false
// if the addresses are not a list.
bool ReadNode(const Rows& rows, core::Node* node);

}  // namespace assay::store

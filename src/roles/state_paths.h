// Where a role keeps its state when no flag says: $STATE_DIRECTORY (systemd), else /var/lib/assay
// if this user can write there, else the user's own state folder ($XDG_STATE_HOME/assay,
// ~/.local/state/assay).
#pragma once

#include <string>

#include "base/status.h"

namespace assay {

// The folder, made if it was missing. Errors name the folder and say which flag names another one.
Result<std::string> StateFolder();
// Makes `folder` and those above it, readable by others: the database is queried by other users.
Status MakeFolders(const std::string& folder);

}  // namespace assay

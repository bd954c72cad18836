// Default location of a role's state: $STATE_DIRECTORY (systemd), else /var/lib/assay if this user
// can write there, else the user's own state folder ($XDG_STATE_HOME/assay, or
// ~/.local/state/assay). Flags override it.
#pragma once

#include <string>

#include "base/status.h"

namespace assay::roles {

// Returns the folder. Creates it if it is missing, except $STATE_DIRECTORY, which systemd creates.
// kUnavailable: the folder cannot be created; the text names it. kNotFound: there is no candidate;
// the text names the flags that select a folder.
base::Result<std::string> StateFolder();
// Creates `folder` and its missing parents, readable by others (mode 0755 less the umask): other
// users query the database.
base::Status MakeFolders(const std::string& folder);

}  // namespace assay::roles

"""The rules about the source that a compiler does not know. Each takes a file's path (from the top
of the tree, with /) and its text, and gives the violations as (line, what).

tidy_test.py applies them to the tree, and each to a text that breaks it.
"""

import re

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
CPP = (".cc", ".h")


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def includes(text):
    """(line, quoted?, name) of every #include."""
    return [(line_of(text, m.start(2)), m.group(1) == '"', m.group(2))
            for m in INCLUDE.finditer(text)]


def code_of(text):
    """The text with comments and string literals blanked, line for line."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.DOTALL)
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)


def matches(pattern, text, what):
    return [(line_of(text, m.start()), what.format(m.group(0))) for m in re.finditer(pattern, text)]


# src/core, with its folders, and src/rank_table are pure: they may run on a simulated clock, in one
# thread, in any order.
PURE = ("src/core/", "src/rank_table/")
PURE_NEVER = {
    "atomic", "barrier", "chrono", "condition_variable", "coroutine", "csignal", "ctime",
    "filesystem", "fstream", "future", "iostream", "istream", "latch", "mutex", "ostream",
    "random", "semaphore", "shared_mutex", "stop_token", "syncstream", "thread", "time.h",
}
# The headers of base that are as pure: texts, ids and addresses, and no system call.
PURE_MAY_INCLUDE = ("core/", "rank_table/", "base/ids.h", "base/ip_address.h",
                    "base/json_string.h", "base/number.h", "base/status.h", "base/text.h")
PURE_CALLS = (r"\b(?:std::)?(?:getenv|time|rand|srand|random|clock|clock_gettime|gettimeofday"
              r"|printf|fprintf|puts|fopen|usleep|sleep|nanosleep)\s*\(")


def core_is_pure(path, text):
    if not path.startswith(PURE) or not path.endswith(CPP):
        return []
    found = []
    for line, quoted, name in includes(text):
        if quoted:
            bad = not name.startswith(PURE_MAY_INCLUDE)
        else:  # of the standard library alone: names without a folder or .h
            bad = name in PURE_NEVER or "/" in name or name.endswith(".h")
        if bad:
            found.append((line, f"{folder_of(path)} includes {name}"))
    return found + matches(r"(?<![\w.>:])" + PURE_CALLS, code_of(text), "pure code calls {}")


# Folder of src -> what its files may include beside their own folder: folders, and single headers
# where the rest of that folder is not meant. A folder that is not named here may include nothing.
# Sub-folders are folders: "core" does not allow "core/node".
MAY_INCLUDE = {
    "base": (),
    "base/process": ("base",),
    "rank_table": ("base",),
    "core": ("base", "rank_table"),
    # Coordinator's half and agent's half of the core. Neither knows the other.
    "core/cluster": ("base", "core"),
    "core/node": ("base", "core"),
    "lockfree": ("base",),
    # The spool keeps the state of an agent's core.
    "store": ("base", "rank_table", "core", "core/node"),
    "wire": ("base", "core"),
    # driver_table.cc lists the drivers; they know its interface alone.
    "driver": ("base", "core", "driver/host", "driver/sim"),
    "driver/host": ("base", "core", "driver"),
    "driver/sim": ("base", "driver"),
    "agent": ("base", "base/process", "core", "core/node", "lockfree", "store", "wire", "driver"),
    # Of the store only the interface that the loop commits to.
    "control": ("base", "core", "core/cluster", "lockfree", "store/storage.h"),
    "rpc": ("base", "rank_table/hccl_json.h", "core", "lockfree", "wire", "control"),
    # Queries read the database; commands go through control.
    "rpc/admin": ("base", "rank_table", "core", "store/queries.h",
                  "wire/clusterd_code.h", "control", "rpc"),
    "jobs_directory": ("base", "rank_table", "core", "lockfree", "control"),
    # Puts the role together. Its core is configured here.
    "coordinator": ("base", "core/cluster", "store", "wire", "control", "rpc", "rpc/admin",
                    "jobs_directory"),
    # A flag's value can be an address.
    "cli/flags": ("base", "cli/address.h"),
    # The table of commands names the one of cli/watch.
    "cli": ("base", "rank_table", "core", "wire/grpc_status.h", "cli/flags",
            "cli/watch/watch_command.h"),
    "cli/watch": ("base", "rank_table", "cli"),
    # What puts the roles together knows them all.
    "roles": ("base", "driver", "agent", "coordinator", "cli", "cli/flags"),
    # main.cc
    "": ("cli", "roles"),
}


def folder_of(name):
    """The folder, from src/, of a file of src or of an included header."""
    return name.removeprefix("src/").rpartition("/")[0]


def layers_point_one_way(path, text):
    if not path.startswith("src/") or not path.endswith(CPP):
        return []
    folder = folder_of(path)
    allowed = MAY_INCLUDE.get(folder, ())
    return [(line, f"{folder or 'main.cc'} includes {name}") for line, quoted, name
            in includes(text) if quoted and "/" in name and name not in allowed
            and folder_of(name) not in (folder, *allowed)]


# (which headers, which files of src may include them). A folder ends with /, without its
# sub-folders; a name without its ending is both the header and the .cc.
GRPC_FOLDERS = ("wire/", "rpc/", "rpc/admin/", "coordinator/", "cli/client", "cli/watch/job_feed",
                "agent/link")
OWNERS = (
    (r"sqlite3\.h", ("store/",)),
    (r"(grpc|grpcpp|google/protobuf|absl)/.*", GRPC_FOLDERS),
    (r".*\.pb\.h", ("wire/", "rpc/", "rpc/admin/", "cli/", "cli/watch/", "agent/link")),
    (r"nlohmann/.*", ("store/text_list", "cli/output")),
    (r"CLI/.*", ("cli/flags/flags",)),
    (r"Eigen/.*", ("driver/host/kernel_level",)),
    (r"(.*/)?(concurrentqueue|lightweightsemaphore)\.h", ("lockfree/queue",)),
    (r"mimalloc.*", ("compat/",)),
)


def libraries_have_owners(path, text):
    if not path.startswith("src/") or not path.endswith(CPP):
        return []
    owned = {folder_of(path) + "/", path.removeprefix("src/").rpartition(".")[0]}
    return [(line, f"{path.removeprefix('src/')} includes {name}: its users are {', '.join(users)}")
            for line, _, name in includes(text) for headers, users in OWNERS
            if re.fullmatch(headers, name) and not owned & set(users)]


# Files without a namespace of ours: those that hold only a main function, and those that replace
# functions of other libraries.
NO_NAMESPACE = re.compile(r"^(src/main\.cc|src/compat/.*|tests/(main\.cc|build/.*|fuzz/.*))$")
NAMESPACE = re.compile(r"^(?:inline )?namespace ([\w:]+) \{(.*?)^\}", re.MULTILINE | re.DOTALL)
DECLARATIONS = re.compile(r"\s*(?:(?:class|struct|enum class) \w+(?: : [\w:]+)?;\s*)*")


def namespace_is_the_folder(path, text):
    """src/core/cluster and tests/core/cluster are assay::core::cluster. A file may declare types of
    our other namespaces, for pointers to them. Namespaces that are not ours are not checked."""
    top, _, folder = path.rpartition("/")[0].partition("/")
    if top not in ("src", "tests") or not path.endswith(CPP) or NO_NAMESPACE.match(path):
        return []
    wanted = "::".join(["assay", *folder.split("/")])
    code = code_of(text)
    found = [(line_of(text, m.start()), f"namespace {m.group(1)}, not {wanted}")
             for m in NAMESPACE.finditer(code)
             if m.group(1) != wanted and m.group(1).split("::")[0] == "assay"
             and not m.group(1).startswith(wanted + "::")
             and not DECLARATIONS.fullmatch(m.group(2))]
    found += [(line_of(text, m.start()), f"{m.group(0)}: a header does that to all who include it")
              for m in re.finditer(r"^ *using namespace [\w:]+", code, re.MULTILINE)
              if path.endswith(".h")]
    has_its_own = any(m.group(1).startswith(wanted) for m in NAMESPACE.finditer(code))
    # Test cases and main functions need none: what they need lies in an unnamed namespace.
    is_program = re.search(r"^int main\(", code, re.MULTILINE)
    needs_its_own = path.endswith(".h") or (top == "src" and not is_program)
    if not found and not has_its_own and needs_its_own:
        found.append((1, f"no namespace {wanted}"))
    return found


LOCK = (r"\b(?:std::(?:\w*mutex|lock_guard|unique_lock|scoped_lock|shared_lock"
        r"|condition_variable\w*)|absl::Mutex\w*|pthread_(?:mutex|cond|rwlock|spin)\w*)\b")
# Files of src/ that may lock, each with its reason.
LOCK_FILES = {}


def no_locks(path, text):
    if not path.startswith("src/") or not path.endswith(CPP) or path in LOCK_FILES:
        return []
    return matches(LOCK, code_of(text), "{}: state has one owner, queues lead to it")


# Spelt apart, so that this file passes.
UNFINISHED = r"\b(?:TO" + r"DO|FIX" + r"ME|X" + r"XX)\b"


def nothing_unfinished(path, text):
    del path
    return matches(UNFINISHED, text, "{}: finish it, or open an issue")


# Words that make a reader stumble, each with the standard term. Comments and documents only: names
# and texts of tests are free. docs/wire.md quotes others.
STUMBLING = {
    r"anew": "again", r"for ever": "forever, or never stops", r"in vain": "without success",
    r"is no news": "unchanged", r"(?:is|was|are|were|be) told": "send, notify, report",
    r"(?:is|was|are) said": "log, report, state", r"(?:is|was|are) looked at": "check, read, scan",
    r"(?:is|was|are) heard": "receive", r"nobody|somebody|everybody|whoever|to whom":
        "the caller, client, agent, subscriber ...", r"whence": "from which",
}
STUMBLING_WORD = re.compile(r"\b(?:" + "|".join(f"(?:{word})" for word in STUMBLING) + r")\b", re.I)
COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|(?://|#(?!include)|--)[^\n]*')


def plain_words(path, text):
    """Comments of code and whole documents; the match names the standard term."""
    if path == "docs/wire.md" or path.startswith(("tests/", "subprojects/")):
        return []
    if path.endswith(".md"):
        prose = [(m.start(), m.group(0)) for m in re.finditer(r"[^\n]+", text)]
    elif path.endswith(CPP + (".proto", ".sql", ".build")):
        prose = [(m.start(), m.group(0)) for m in COMMENT.finditer(text)
                 if not m.group(0).startswith('"')]
    else:
        return []
    return [(line_of(text, start), f"{m.group(0)}: write " + next(
        term for word, term in STUMBLING.items() if re.fullmatch(word, m.group(0), re.I)))
            for start, line in prose for m in STUMBLING_WORD.finditer(line)]


COLUMNS_MAX = 100
# Prose in documents wraps by itself. A raw string holds a wire text unchanged.
COLUMNS_OF = CPP + (".py", ".js", ".mjs", ".proto", ".sql", ".sh", ".build", ".txt", ".service")


def at_most_100_columns(path, text):
    if not path.endswith(COLUMNS_OF) and "." in path.split("/")[-1]:
        return []
    return [(number, f"{len(line)} columns") for number, line in enumerate(text.split("\n"), 1)
            if len(line) > COLUMNS_MAX and not (path.endswith(CPP) and 'R"' in line)]


def headers_are_guarded(path, text):
    if not path.endswith(".h") or re.search(r"^#pragma once$", text, re.MULTILINE):
        return []
    return [(1, "no #pragma once")]


GENERATED = (".pb.h", ".inc")


def includes_from_the_root(path, text):
    if not path.endswith(CPP):
        return []
    return [(line, f"include {name} by its path from src/") for line, quoted, name in includes(text)
            if quoted and (name.startswith(".")
                           or ("/" not in name and not name.endswith(GENERATED)))]


# Files that may write to the standard streams. Commands print through cli/output.h, which makes
# control characters visible. All others log (base/log.h).
STREAM_FILES = re.compile(r"^src/(cli/output\.cc|cli/flags/flags\.cc|base/log\.cc)$")


def logs_through_base_log(path, text):
    if not path.startswith("src/") or not path.endswith(CPP):
        return []
    found = [(line, f"{name}: log through base/log.h") for line, _, name in includes(text)
             if name.startswith("spdlog/") and not path.startswith("src/base/log.")]
    if not STREAM_FILES.match(path):
        found += matches(r"\bstd::(?:cout|cerr|clog|printf|puts)\b", code_of(text),
                         "{}: print through cli/output.h" if path.startswith("src/cli/")
                         else "{}: log through base/log.h")
    return found


# Certificates and roles will decide at the gate, so no call may reach the intake past it. The jobs
# directory admits its own commands.
ADMIT_FILES = ("src/rpc/gate.cc", "src/jobs_directory/jobs_directory.cc")


def calls_enter_by_the_gate(path, text):
    if not path.startswith("src/") or not path.endswith(CPP) or path in ADMIT_FILES:
        return []
    return matches(r"\bintake_?(?:\(\))?(?:->|\.)Admit\(", code_of(text),
                   "{}: only the gate (rpc/gate.h) admits calls")


RULES = [core_is_pure, layers_point_one_way, libraries_have_owners, namespace_is_the_folder,
         calls_enter_by_the_gate, no_locks, nothing_unfinished, plain_words, at_most_100_columns,
         headers_are_guarded, includes_from_the_root, logs_through_base_log]

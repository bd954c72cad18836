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


# src/core is pure: it may be run on a simulated clock, in one thread, in any order.
CORE_NEVER = {
    "atomic", "barrier", "chrono", "condition_variable", "coroutine", "csignal", "ctime",
    "filesystem", "fstream", "future", "iostream", "istream", "latch", "mutex", "ostream",
    "random", "semaphore", "shared_mutex", "stop_token", "syncstream", "thread", "time.h",
}
CORE_MAY_INCLUDE = ("core/", "base/status.h")
# The JSON parser is for reading rank tables.
CORE_JSON_FILES = re.compile(r"^src/core/(rank_table|json_)\w*\.(cc|h)$")
CORE_CALLS = (r"\b(?:std::)?(?:getenv|time|rand|srand|random|clock|clock_gettime|gettimeofday"
              r"|printf|fprintf|puts|fopen|usleep|sleep|nanosleep)\s*\(")


def core_is_pure(path, text):
    if not path.startswith("src/core/") or not path.endswith(CPP):
        return []
    found = []
    for line, quoted, name in includes(text):
        if quoted:
            bad = not name.startswith(CORE_MAY_INCLUDE)
        elif name.startswith("nlohmann/"):
            bad = not CORE_JSON_FILES.match(path)
        else:  # of the standard library alone: names without a folder or .h
            bad = name in CORE_NEVER or "/" in name or name.endswith(".h")
        if bad:
            found.append((line, f"core includes {name}"))
    return found + matches(r"(?<![\w.>:])" + CORE_CALLS, code_of(text), "core calls {}")


# folder -> folders that it may not include from.
LAYERS = {
    "base": ("core", "lockfree", "store", "wire", "driver", "agent", "coordinator", "cli"),
    "lockfree": ("store", "wire", "driver", "agent", "coordinator", "cli"),
    "store": ("wire", "driver", "agent", "coordinator", "cli"),
    "wire": ("store", "driver", "agent", "coordinator", "cli"),
    "driver": ("store", "agent", "coordinator", "cli"),
    "agent": ("coordinator", "cli"),
    "coordinator": ("agent", "driver", "cli"),
    "cli": ("agent", "coordinator", "driver", "store"),
}


# Where the roles are put together: file -> folders that it may include from all the same.
WIRING = {
    "src/cli/daemon.cc": ("agent", "coordinator", "driver"),
    "src/cli/worker_command.cc": ("driver",),
}


def layers_point_one_way(path, text):
    parts = path.split("/")
    allowed = WIRING.get(path, ())
    if parts[0] != "src" or len(parts) < 3 or not path.endswith(CPP):
        return []
    return [(line, f"{parts[1]} includes {name}") for line, quoted, name in includes(text)
            if quoted and name.split("/")[0] in LAYERS.get(parts[1], ())
            and name.split("/")[0] not in allowed]


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


COLUMNS_MAX = 100
# Prose is wrapped by whoever reads it; a text of the wire stands in a raw string as it is.
COLUMNS_OF = CPP + (".py", ".js", ".mjs", ".proto", ".sql", ".sh", ".build", ".txt", ".service")


def at_most_100_columns(path, text):
    if not path.endswith(COLUMNS_OF) and "." in path.split("/")[-1]:
        return []
    return [(number, f"{len(line)} columns") for number, line in enumerate(text.split("\n"), 1)
            if len(line) > COLUMNS_MAX and not (path.endswith(CPP) and 'R"' in line)]


FUNCTION_LINES_MAX = 70
# A ratchet: longer functions that were there, by "path: first line", with their length. It may
# only shrink.
LONG_FUNCTIONS = {}


NOT_A_FUNCTION = re.compile(r"^(inline )?(namespace|struct|class|enum|union|extern|using)\b[^(]*$")


def functions_are_short(path, text):
    """In clang-format's layout a function outside a class begins in the first column, has ) and {
    before its body, and ends at the next } in the first column."""
    if not path.startswith("src/") or not path.endswith(CPP):
        return []
    found = []
    head, start, in_body = "", 0, False
    for number, line in enumerate(code_of(text).split("\n"), 1):
        line = line.rstrip()
        if in_body:
            if line.startswith("}"):
                name = text.split("\n")[start - 1]
                allowed = LONG_FUNCTIONS.get(f"{path}: {name}", FUNCTION_LINES_MAX)
                if number - start + 1 > allowed:
                    found.append((start, f"{number - start + 1} lines: {name}"))
                in_body, head = False, ""
            continue
        if not head:
            if not re.match(r"[A-Za-z_\[~:]", line):
                continue
            start = number
        head += line + "\n"
        if line.endswith("{"):
            in_body = ")" in head and not line.endswith(("= {", "({", "{{")) \
                and not NOT_A_FUNCTION.match(head.replace("\n", " "))
            head = head if in_body else ""
        elif line.endswith((";", "}", ":")) or not line:
            head = ""
    return found


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


# Who may write to the standard streams: whoever talks to a person. The rest logs (base/log.h).
STREAM_FILES = re.compile(r"^src/(main\.cc|cli/.*|base/log\.cc)$")


def logs_through_base_log(path, text):
    if not path.startswith("src/") or not path.endswith(CPP):
        return []
    found = [(line, f"{name}: log through base/log.h") for line, _, name in includes(text)
             if name.startswith("spdlog/") and not path.startswith("src/base/log.")]
    if not STREAM_FILES.match(path):
        found += matches(r"\bstd::(?:cout|cerr|clog|printf|puts)\b", code_of(text),
                         "{}: log through base/log.h")
    return found


RULES = [core_is_pure, layers_point_one_way, no_locks, nothing_unfinished, at_most_100_columns,
         functions_are_short, headers_are_guarded, includes_from_the_root, logs_through_base_log]

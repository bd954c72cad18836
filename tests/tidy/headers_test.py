"""Every header compiles alone: what it uses it includes itself.

usage: headers_test.py BUILD_FOLDER COMPILER [unittest's arguments]

A header that its own .cc, or a test, includes first was compiled alone by the build; the others are
compiled here, with the include folders that the build folder's compile_commands.json has.
"""

import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

import rules
import source_tree

BUILD = ""
COMPILER = ""


def proven(files):
    """Headers that a .cc includes before anything else, out of {path: text}."""
    found = set()
    for path, text in files.items():
        if not path.endswith(".cc"):
            continue
        first = rules.includes(text)[:1]
        found.update(name for _, quoted, name in first if quoted)
    return {path for path in files if path.removeprefix("src/") in found}


def arguments(commands):
    """-I, -isystem, -D and -std of all commands, each once, in order.

    Of a macro the first definition: some files are compiled several times, each time with another.
    """
    found = {}
    for command in commands:
        words = iter(shlex.split(command))
        for word in words:
            group = [word, next(words)] if word in ("-I", "-isystem") else [word]
            if re.match(r"-(I|isystem|D|std=)", word):
                key = word.split("=")[0] if word.startswith("-D") else " ".join(group)
                found.setdefault(key, group)
    return [word for group in found.values() for word in group]


def compile_alone(header, options, folder):
    command = [COMPILER, "-fsyntax-only", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror",
               *options, "-include", header, "-x", "c++", "/dev/null"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return "" if result.returncode == 0 else f"{header}:\n{result.stderr[:2000]}"


class Headers(unittest.TestCase):

    def test_each_compiles_alone(self):
        files = {path: source_tree.read(path) for path in source_tree.paths()
                 if path.endswith(rules.CPP)}
        with open(os.path.join(BUILD, "compile_commands.json"), encoding="utf-8") as file:
            options = arguments([entry["command"] for entry in json.load(file)
                                 if "subprojects" not in entry["file"]])
        headers = [path for path in files if path.endswith(".h")]
        self.assertIn("src/base/status.h", headers)
        left = sorted(set(headers) - proven(files))
        print(f"{len(headers)} headers, {len(left)} of them compiled here", file=sys.stderr)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            errors = list(pool.map(lambda path: compile_alone(
                os.path.join(source_tree.ROOT, path), options, BUILD), left))
        self.assertEqual("".join(errors), "")


class Rule(unittest.TestCase):

    def test_a_header_that_leans_on_others_is_seen(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.h")
            for text, good in (("inline std::string A();\n", False),
                               ("#include <string>\ninline std::string A();\n", True)):
                with open(path, "w", encoding="utf-8") as file:
                    file.write("#pragma once\n" + text)
                error = compile_alone(path, ["-std=c++20", "-Wno-undefined-inline"], folder)
                self.assertEqual(error == "", good, error)

    def test_proven_by_the_first_include_alone(self):
        files = {"src/a/a.h": "", "src/a/b.h": "",
                 "src/a/a.cc": '#include "a/a.h"\n#include "a/b.h"\n'}
        self.assertEqual(proven(files), {"src/a/a.h"})

    def test_arguments(self):
        self.assertEqual(
            arguments(["c++ -I. -isystem /x -O2 -std=c++20 -c a.cc",
                       "c++ -I. '-DA=\"b\"' -c b.cc"]),
            ["-I.", "-isystem", "/x", "-std=c++20", '-DA="b"'])


if __name__ == "__main__":
    BUILD, COMPILER = sys.argv[1:3]
    del sys.argv[1:3]
    unittest.main()

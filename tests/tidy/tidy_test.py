"""Applies rules.py to the tree, and clang-format; every rule has a text that it must catch.

usage: tidy_test.py [unittest's arguments]
"""

import os
import re
import shutil
import subprocess
import unittest

import rules
import source_tree


class Tree(unittest.TestCase):
    """What is there keeps every rule."""

    @classmethod
    def setUpClass(cls):
        cls.files = [(path, source_tree.read(path)) for path in source_tree.paths()]

    def check(self, rule):
        found = [f"{path}:{line}: {what}" for path, text in self.files
                 for line, what in rule(path, text)]
        self.assertEqual(found, [], "\n" + "\n".join(found))

    def test_the_tree_was_found(self):
        paths = [path for path, _ in self.files]
        self.assertIn("src/core/op.h", paths)
        self.assertIn("tests/tidy/rules.py", paths)
        self.assertIn("tools/test", paths)
        self.assertFalse([path for path in paths if "node_modules" in path])

    def test_every_source_is_built(self):
        builds = "".join(text for path, text in self.files if path.endswith("meson.build"))
        built = {name.rsplit("/", 1)[-1] for name in re.findall(r"'([^'\n]+)'", builds)}
        self.assertIn("main.cc", built)
        sources = [path for path, _ in self.files if path.endswith(".cc")]
        self.assertEqual([path for path in sources if os.path.basename(path) not in built], [])

    def test_tools_can_be_run(self):
        scripts = [path for path, text in self.files if text.startswith("#!")]
        self.assertIn("tools/deps", scripts)
        self.assertEqual([path for path in scripts
                          if not os.access(os.path.join(source_tree.ROOT, path), os.X_OK)], [])


def add_tree_tests():
    for rule in rules.RULES:
        setattr(Tree, f"test_{rule.__name__}", lambda self, rule=rule: self.check(rule))


class Format(unittest.TestCase):

    def test_clang_format(self):
        program = shutil.which("clang-format-14")
        if program is None:
            self.skipTest("clang-format-14 is not installed")
        sources = [path for path in source_tree.paths() if path.endswith((*rules.CPP, ".proto"))]
        result = subprocess.run([program, "--dry-run", "-Werror", "--style=file", *sources],
                                cwd=source_tree.ROOT, capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, "run clang-format-14 -i on:\n" + result.stderr)

    def test_it_would_be_seen(self):
        program = shutil.which("clang-format-14")
        if program is None:
            self.skipTest("clang-format-14 is not installed")
        result = subprocess.run(
            [program, "--dry-run", "-Werror", "--style=file", "--assume-filename=src/a.cc"],
            cwd=source_tree.ROOT, input="int  a ;\n", capture_output=True, text=True, check=False)
        self.assertNotEqual(result.returncode, 0)


class Rules(unittest.TestCase):
    """Each rule catches what it is there for, and lets pass what only looks like it."""

    def catches(self, rule, path, text, count=1):
        self.assertEqual(len(rule(path, text)), count, rule(path, text))

    def passes(self, rule, path, text):
        self.assertEqual(rule(path, text), [])

    def test_core_is_pure(self):
        rule = rules.core_is_pure
        for name in ("<thread>", "<mutex>", "<atomic>", "<chrono>", "<iostream>", "<filesystem>",
                     "<grpcpp/grpcpp.h>", "<sqlite3.h>", "<google/protobuf/message.h>",
                     "<unistd.h>", '"fleet.pb.h"', '"store/store.h"', '"base/log.h"',
                     "<nlohmann/json.hpp>"):
            self.catches(rule, "src/core/job.cc", f"#include {name}\n")
        self.catches(rule, "src/core/job.cc", "  t = time(nullptr);\n  std::getenv(\"A\");\n", 2)
        self.passes(rule, "src/core/job.cc", '#include <string>\n#include "core/op.h"\n')
        self.passes(rule, "src/core/job.cc", "// it is time (now)\nf.time(1); start_time(2);\n")
        self.passes(rule, "src/core/rank_table_forms.cc", "#include <nlohmann/json.hpp>\n")
        self.passes(rule, "src/agent/link.cc", "#include <thread>\n")

    def test_layers_point_one_way(self):
        rule = rules.layers_point_one_way
        self.catches(rule, "src/agent/link.h", '#include "coordinator/loop.h"\n')
        self.catches(rule, "src/coordinator/loop.h", '#include "agent/link.h"\n')
        self.catches(rule, "src/base/log.h", '#include "core/op.h"\n')
        self.passes(rule, "src/agent/link.h", '#include "core/op.h"\n#include "agent/worker.h"\n')
        self.passes(rule, "src/main.cc", '#include "agent/link.h"\n')

    def test_no_locks(self):
        rule = rules.no_locks
        for code in ("std::mutex m;", "std::shared_mutex m;", "std::lock_guard g(m);",
                     "absl::MutexLock l(&m);", "pthread_mutex_t m;",
                     "std::condition_variable_any c;"):
            self.catches(rule, "src/store/store.cc", code)
        self.passes(rule, "src/store/store.cc", "// no std::mutex here\nauto t = \"std::mutex\";\n")

    def test_nothing_unfinished(self):
        rule = rules.nothing_unfinished
        self.catches(rule, "docs/a.md", "TO" + "DO: later\nFIX" + "ME\nX" + "XX\n", 3)
        self.passes(rule, "docs/a.md", "a mktemp of XXXXXX, TODOS\n")

    def test_at_most_100_columns(self):
        rule = rules.at_most_100_columns
        self.catches(rule, "src/a.cc", "x" * 101 + "\n")
        self.catches(rule, "tools/deps", "x" * 101 + "\n")
        self.passes(rule, "src/a.cc", "\u00e9" * 100 + "\n")
        self.passes(rule, "docs/a.md", "x" * 200 + "\n")
        self.passes(rule, "tests/a.cc", '      R"(' + "x" * 200 + ')");\n')

    def test_functions_are_short(self):
        rule = rules.functions_are_short
        body = "  f();\n\n" * 40
        self.catches(rule, "src/a.cc", "void F(int a) {\n" + body + "}\n")
        self.catches(rule, "src/a.cc", "namespace x {\n\nint A::F(int a,\n         int b) const {\n"
                     + body + "}\n\n}  // namespace x\n")
        self.catches(rule, "src/a.cc", "struct A {\n  int a;\n};\n\nA F() {\n" + body + "}\n")
        self.passes(rule, "src/a.cc", "struct A {\n" + body + "};\n")
        self.passes(rule, "src/a.cc", "namespace x {\n" + body + "}  // namespace x\n")
        self.passes(rule, "src/a.cc", "void F() {\n" + "  f();\n" * 68 + "}\n")
        self.passes(rule, "src/a.cc", ("void F() {\n" + "  f();\n" * 40 + "}\n\n") * 2)
        self.passes(rule, "src/a.h", "void F(int a,\n       int b);\n" + "// text\n" * 100 + "}\n")

    def test_headers_are_guarded(self):
        self.catches(rules.headers_are_guarded, "src/a.h", "// no guard\n")
        self.passes(rules.headers_are_guarded, "src/a.h", "// A.\n#pragma once\n")

    def test_includes_from_the_root(self):
        rule = rules.includes_from_the_root
        self.catches(rule, "src/core/a.cc", '#include "../base/log.h"\n#include "op.h"\n', 2)
        self.passes(rule, "src/core/a.cc", '#include "core/op.h"\n#include "fleet.grpc.pb.h"\n')

    def test_logs_through_base_log(self):
        rule = rules.logs_through_base_log
        self.catches(rule, "src/agent/a.cc", "#include <spdlog/spdlog.h>\nstd::cerr << 1;\n", 2)
        self.passes(rule, "src/base/log.cc", "#include <spdlog/spdlog.h>\n")
        self.passes(rule, "src/cli/a.cc", "std::cout << 1;\n")


if __name__ == "__main__":
    add_tree_tests()
    unittest.main()

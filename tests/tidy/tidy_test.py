"""Applies rules.py to the tree, and clang-format; every rule has a text that it must catch, and so
has .clang-tidy, which clang_tidy.py applies.

usage: tidy_test.py [unittest's arguments]
"""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

import clang_tidy
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

    def test_every_allowance_is_used(self):
        used = set()
        for path, text in self.files:
            if path.startswith("src/") and path.endswith(rules.CPP):
                folder = rules.folder_of(path)
                for _, _, name in rules.includes(text):
                    used |= {(folder, name), (folder, rules.folder_of(name))}
        allowed = {(folder, name) for folder, names in rules.MAY_INCLUDE.items() for name in names}
        self.assertEqual(sorted(allowed - used), [])

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


@unittest.skipIf(shutil.which(clang_tidy.PROGRAM) is None, "clang-tidy-14 is not installed")
class ClangTidy(unittest.TestCase):
    """.clang-tidy catches what it is there for, and lets pass what is good."""

    def findings(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.cc")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            return clang_tidy.findings(path, "--", "-std=c++20")

    def test_a_value_used_after_its_move(self):
        text = ("#include <string>\n#include <utility>\nstd::string F(std::string a) {{\n"
                "  std::string b = std::move(a);\n  return {} + b;\n}}\n")
        self.assertIn("bugprone-use-after-move", self.findings(text.format("a")))
        self.assertEqual(self.findings(text.format("b")), "")

    def test_a_copy_for_each_item_of_a_loop(self):
        text = ("#include <string>\n#include <vector>\nsize_t F(const std::vector<std::string>& v)"
                " {{\n  size_t n = 0;\n  for ({} s : v) n += s.size();\n  return n;\n}}\n")
        self.assertIn("performance-for-range-copy", self.findings(text.format("const auto")))
        self.assertEqual(self.findings(text.format("const auto&")), "")

    def test_functions_are_short(self):
        text = "int F(int a) {{\n{}  return a;\n}}\n"
        self.assertIn("readability-function-size", self.findings(text.format("  ++a;\n" * 68)))
        self.assertEqual(self.findings(text.format("  ++a;\n" * 67)), "")


class Rules(unittest.TestCase):
    """Each rule catches what it is there for, and lets pass what only looks like it."""

    def catches(self, rule, path, text, count=1):
        self.assertEqual(len(rule(path, text)), count, rule(path, text))

    def passes(self, rule, path, text):
        self.assertEqual(rule(path, text), [])

    def test_core_is_pure(self):
        rule = rules.core_is_pure
        for path in ("src/core/job.cc", "src/core/cluster/runs.cc", "src/core/node/supervisor.h",
                     "src/rank_table/forms.cc"):
            for name in ("<thread>", "<mutex>", "<atomic>", "<chrono>", "<iostream>",
                         "<filesystem>", "<grpcpp/grpcpp.h>", "<sqlite3.h>",
                         "<google/protobuf/message.h>", "<unistd.h>", '"fleet.pb.h"',
                         '"store/store.h"', '"base/log.h"', "<nlohmann/json.hpp>"):
                self.catches(rule, path, f"#include {name}\n")
            self.catches(rule, path, "  t = time(nullptr);\n  std::getenv(\"A\");\n", 2)
            self.passes(rule, path, '#include <string>\n#include "core/op.h"\n')
            self.passes(rule, path, "// it is time (now)\nf.time(1); start_time(2);\n")
        self.passes(rule, "src/agent/link.cc", "#include <thread>\n")

    def test_layers_point_one_way(self):
        rule = rules.layers_point_one_way
        for path, name in (("agent/link.h", "coordinator/coordinator.h"),
                           ("coordinator/coordinator.h", "agent/agent.h"),
                           ("base/log.h", "core/op.h"), ("core/op.h", "core/node/supervisor.h"),
                           ("core/cluster/runs.h", "core/node/supervisor.h"),
                           ("core/node/supervisor.h", "core/cluster/runs.h"),
                           ("rank_table/forms.cc", "core/op.h"),
                           ("control/fanout.h", "rpc/bytes.h"),
                           ("control/fanout.h", "store/store.h"),
                           ("jobs_directory/tracker.h", "rpc/bytes.h"),
                           ("cli/client.cc", "coordinator/coordinator.h"),
                           ("unheard_of/a.h", "base/status.h"), ("main.cc", "agent/agent.h")):
            self.catches(rule, "src/" + path, f'#include "{name}"\n')
        for path, name in (("agent/link.h", "agent/inbox.h"), ("agent/link.h", "core/op.h"),
                           ("core/cluster/runs.h", "core/op.h"), ("main.cc", "roles/daemon.h"),
                           ("control/control_loop.h", "store/storage.h"),
                           ("unheard_of/a.cc", "unheard_of/a.h"), ("agent/link.cc", "fleet.pb.h")):
            self.passes(rule, "src/" + path, f'#include "{name}"\n')
        self.passes(rule, "src/control/fanout.h", "#include <sys/types.h>\n")
        self.passes(rule, "tests/agent/rig.h", '#include "coordinator/coordinator.h"\n')

    def test_libraries_have_owners(self):
        rule = rules.libraries_have_owners
        for path, name in (("agent/loop.h", "<sqlite3.h>"), ("control/ports.h", '"job.pb.h"'),
                           ("control/ports.h", "<grpcpp/grpcpp.h>"),
                           ("control/ports.h", "<google/protobuf/arena.h>"),
                           ("jobs_directory/tracker.cc", "<grpcpp/grpcpp.h>"),
                           ("agent/loop.cc", '"fleet.grpc.pb.h"'),
                           ("cli/table.cc", "<grpcpp/grpcpp.h>"), ("cli/table.cc", "<CLI/App.hpp>"),
                           ("store/store.h", "<Eigen/Core>"),
                           ("control/fanout.h", "<concurrentqueue.h>"),
                           ("base/memory.cc", "<mimalloc.h>")):
            self.catches(rule, "src/" + path, f"#include {name}\n")
        for path, name in (("store/sqlite.cc", "<sqlite3.h>"), ("rpc/bytes.h", '"job.pb.h"'),
                           ("agent/link.cc", '"fleet.grpc.pb.h"'),
                           ("cli/client.h", "<grpcpp/grpcpp.h>"),
                           ("lockfree/queue.h", "<concurrentqueue.h>"),
                           ("control/ports.h", "<string>")):
            self.passes(rule, "src/" + path, f"#include {name}\n")
        self.passes(rule, "tests/store/store_test.cc", "#include <sqlite3.h>\n")

    def test_namespace_is_the_folder(self):
        rule = rules.namespace_is_the_folder
        good = "namespace assay::core::cluster {\nnamespace {\nint a;\n}  // namespace\n}\n"
        for path in ("src/core/cluster/runs.cc", "tests/core/cluster/runs_test.cc"):
            self.passes(rule, path, good)
            self.passes(rule, path, "namespace grpc {\nclass A;\n}\n\n" + good)
            self.passes(rule, path, "namespace assay::core {\nclass A;\nstruct B;\n}\n" + good)
            self.catches(rule, path, "namespace assay {\nint F();\n}\n")
            self.catches(rule, path, "namespace assay::core {\nclass A {};\n}\n" + good)
        for text in ("// namespace assay::core::cluster {\nint F();\n", "namespace {\nint a;\n}\n"):
            self.catches(rule, "src/core/cluster/runs.cc", text)
            self.catches(rule, "tests/core/cluster/rig.h", text)
            self.passes(rule, "tests/core/cluster/runs_test.cc", text)
        self.passes(rule, "tests/simulation/world.h", "namespace assay::simulation {\n}\n")
        self.passes(rule, "tests/store/child.cc", "namespace {\n}\nint main() {}\n")
        self.catches(rule, "tests/store/child.cc", "namespace assay {\nint a;\n}\nint main() {}")
        self.catches(rule, "src/core/cluster/runs.h", good + "using namespace assay::core;\n")
        self.passes(rule, "src/main.cc", "int main() {}\n")
        self.passes(rule, "src/compat/new_delete.cc", "void f() {}\n")

    def test_no_locks(self):
        rule = rules.no_locks
        for code in ("std::mutex m;", "std::shared_mutex m;", "std::lock_guard g(m);",
                     "absl::MutexLock l(&m);", "pthread_mutex_t m;",
                     "std::condition_variable_any c;"):
            self.catches(rule, "src/store/store.cc", code)
        self.passes(rule, "src/store/store.cc", "// no std::mutex here\nauto t = \"std::mutex\";\n")

    def test_calls_enter_by_the_gate(self):
        rule = rules.calls_enter_by_the_gate
        for code in ("intake_->Admit({});", "gate->intake()->Admit({});", "intake.Admit(request);"):
            self.catches(rule, "src/rpc/job_service.cc", code)
            self.passes(rule, "src/rpc/gate.cc", code)
        self.passes(rule, "src/store/database_file.cc", "status = Admit(database.get());")

    def test_nothing_unfinished(self):
        rule = rules.nothing_unfinished
        self.catches(rule, "docs/a.md", "TO" + "DO: later\nFIX" + "ME\nX" + "XX\n", 3)
        self.passes(rule, "docs/a.md", "a mktemp of XXXXXX, TODOS\n")

    def test_plain_words(self):
        rule = rules.plain_words
        self.catches(rule, "src/a.cc", "// It is told that nobody waits.\nint a;  // anew\n", 3)
        self.catches(rule, "docs/a.md", "It is looked at again.\n")
        self.catches(rule, "proto/a.proto", "// Whoever attaches.\n")
        self.passes(rule, "src/a.cc", 'auto nobody = "is said";  // renewed\n')
        self.passes(rule, "tests/a.cc", "// nobody\n")
        self.passes(rule, "docs/wire.md", "is told\n")

    def test_at_most_100_columns(self):
        rule = rules.at_most_100_columns
        self.catches(rule, "src/a.cc", "x" * 101 + "\n")
        self.catches(rule, "tools/deps", "x" * 101 + "\n")
        self.passes(rule, "src/a.cc", "\u00e9" * 100 + "\n")
        self.passes(rule, "docs/a.md", "x" * 200 + "\n")
        self.passes(rule, "tests/a.cc", '      R"(' + "x" * 200 + ')");\n')

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
        self.catches(rule, "src/cli/a.cc", "std::cout << 1;\n")
        self.passes(rule, "src/cli/output.cc", "std::cout << 1;\n")


if __name__ == "__main__":
    add_tree_tests()
    unittest.main()

"""Checks the run-time needs of the built binary and the symbols it exports to opened libraries.

usage: binary_test.py BINARY [--size]     (--size: also check the stripped size, for release builds)
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

GLIBC_MAX = (2, 34)
STRIPPED_BYTES_MAX = 16 * 1000 * 1000
# glibc's libraries, by the names that the loader uses. The binary may need no others.
GLIBC_LIBRARIES = re.compile(
    r"^(libc\.so\.6|libm\.so\.6|libdl\.so\.2|librt\.so\.1|libpthread\.so\.0|libresolv\.so\.2"
    r"|ld-linux-[a-z0-9-]+\.so\.\d)$")
# glibc data of which every program holds a copy. The binary may export no other symbol to an opened
# library.
EXPORTS = re.compile(r"^(_?_?environ|__progname\w*|program_invocation_\w+|opt(arg|ind|err|opt)|"
                     r"std(in|out|err)|__libc_single_threaded|_?_?timezone|_?_?daylight|"
                     r"_?_?tzname|in6addr_\w+)(@|$)")

BINARY = ""


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed(dynamic):
    """The names of the needed libraries, from the output of readelf -d."""
    return re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic)


def foreign(names):
    return [name for name in names if not GLIBC_LIBRARIES.match(name)]


def too_new(symbols):
    """The symbols of versions above GLIBC_MAX, from the output of objdump -T."""
    found = []
    for line in symbols.splitlines():
        version = re.search(r"\bGLIBC_(\d+)\.(\d+)", line)
        if "*UND*" in line and version and tuple(map(int, version.groups())) > GLIBC_MAX:
            found.append(" ".join(line.split()[-2:]))
    return found


def shown(symbols):
    """The defined dynamic symbols except glibc's copies, from nm -D --defined-only."""
    names = [line.split()[-1] for line in symbols.splitlines() if line.strip()]
    return [name for name in names if not EXPORTS.match(name)]


class Rules(unittest.TestCase):
    """Tests of the rules: each accepts valid output and rejects invalid output."""

    def test_needed(self):
        text = (" 0x1 (NEEDED)   Shared library: [libc.so.6]\n"
                " 0x1 (NEEDED)   Shared library: [libstdc++.so.6]\n")
        self.assertEqual(foreign(needed(text)), ["libstdc++.so.6"])
        self.assertEqual(foreign(["ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"]), [])

    def test_versions(self):
        line = "0000000000000000      DF *UND*\t0000000000000000 (GLIBC_{}) {}\n"
        text = line.format("2.2.5", "read") + line.format("2.34", "a") + line.format("2.36", "b")
        self.assertEqual(too_new(text), ["(GLIBC_2.36) b"])

    def test_exports(self):
        text = "00d93468 B stderr@GLIBC_2.2.5\n00012340 T _Znwm\n00012340 T malloc\n"
        self.assertEqual(shown(text), ["_Znwm", "malloc"])


class Binary(unittest.TestCase):

    def test_needs_glibc_alone(self):
        names = needed(output("readelf", "-dW", BINARY))
        self.assertIn("libc.so.6", names)
        self.assertEqual(foreign(names), [])

    def test_needs_no_new_glibc(self):
        symbols = output("objdump", "-T", BINARY)
        self.assertIn("GLIBC_2.", symbols)
        self.assertEqual(too_new(symbols), [])

    def test_relocations_are_of_the_old_kind(self):
        # DT_RELR is smaller, but loaders before glibc 2.36 refuse it.
        self.assertNotIn("RELR", output("readelf", "-dW", BINARY))

    def test_shows_nothing_to_opened_libraries(self):
        self.assertEqual(shown(output("nm", "-D", "--defined-only", BINARY)), [])

    def test_hardened(self):
        self.assertIn("DYN", output("readelf", "-hW", BINARY))
        self.assertIn("GNU_RELRO", output("readelf", "-lW", BINARY))
        self.assertIn("NOW", output("readelf", "-dW", BINARY))

    def test_says_its_version(self):
        self.assertRegex(output(BINARY, "--version"), r"^assay \d+\.\d+\.\d+\n$")


class Size(unittest.TestCase):

    def test_stripped(self):
        with tempfile.TemporaryDirectory() as folder:
            stripped = os.path.join(folder, "assay")
            output("strip", "-o", stripped, BINARY)
            size = os.path.getsize(stripped)
        print(f"stripped: {size / 1e6:.1f} MB", file=sys.stderr)
        self.assertLessEqual(size, STRIPPED_BYTES_MAX)


if __name__ == "__main__":
    BINARY = sys.argv.pop(1)
    if "--size" in sys.argv:
        sys.argv.remove("--size")
    else:
        del Size
    unittest.main()

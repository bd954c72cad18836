"""tools/tally.py counts what test programs say, and never takes silence or a crash for success."""

import os
import sys
import unittest

import source_tree

sys.path.insert(0, os.path.join(source_tree.ROOT, "tools"))
import tally  # noqa: E402


class Tally(unittest.TestCase):

    def counts(self, expected, stdout="", stderr="", result="OK"):
        test = {"name": "t", "stdout": stdout, "stderr": stderr, "result": result}
        self.assertEqual(tally.count(test), expected)

    def test_catch2(self):
        self.counts((2, 0), "All tests passed (12 assertions in 2 test cases)\n")
        self.counts((1, 0), "All tests passed (1 assertion in 1 test case)\n")
        line = "test cases:  8 |  7 passed | 1 failed\nassertions: 24 | 23 passed | 1 failed\n"
        self.counts((7, 1), line, result="FAIL")
        self.counts((0, 2), "test cases: 2 | 2 failed\nassertions: 2 | 2 failed\n", result="FAIL")
        self.counts((0, 1), "===\nNo tests ran\n\n")

    def test_unittest(self):
        self.counts((10, 0), stderr="Ran 10 tests in 0.124s\n\nOK\n")
        self.counts((8, 0), stderr="Ran 10 tests in 0.124s\n\nOK (skipped=2)\n")
        self.counts((7, 3), stderr="Ran 10 tests in 1.1s\n\nFAILED (failures=1, errors=2)\n",
                    result="FAIL")
        self.counts((0, 1), stderr="Ran 0 tests in 0.0s\n\nOK\n")

    def test_node_and_plain(self):
        self.counts((5, 1), "# tests 6\n# pass 5\n# fail 1\n", result="FAIL")
        self.counts((5, 0), "seed 7\n5 passed, 0 failed\n")

    def test_silence_and_crashes(self):
        self.counts((1, 0))
        self.counts((0, 1), result="FAIL")
        self.counts((0, 1), result="TIMEOUT")
        self.counts((0, 0), result="SKIP")
        self.counts((2, 1), "All tests passed (9 assertions in 2 test cases)\n", result="FAIL")


if __name__ == "__main__":
    unittest.main()

"""Counts the test cases in Meson's testlog.json. The last line printed is `N passed, N failed`.

usage: tally.py TESTLOG      exit code 1 if a test failed or if there is no log

The cases come from each test program's summary: Catch2's, unittest's, node's TAP, or a last line
`N passed, N failed`. A program without a summary counts as one case. A program that failed although
its summary reports no failure counts as one failed case in addition to those of its summary.
"""

import json
import re
import sys


def last(pattern, text):
    found = re.findall(pattern, text, re.MULTILINE)
    return found[-1] if found else None


def of_catch2(text):
    good = last(r"^All tests passed \(.* in (\d+) test cases?\)$", text)
    if good:
        return int(good), 0
    line = last(r"^test cases: *\d+ *\|(.*)$", text)
    if line is None:
        return (0, 1) if re.search(r"^No tests ran$", text, re.MULTILINE) else None
    number = {name: int(n) for n, name in re.findall(r"(\d+) (passed|failed)\b", line)}
    return number.get("passed", 0), number.get("failed", 0)


def of_unittest(text):
    ran = re.findall(r"^Ran (\d+) tests? in .*\n+((?:OK|FAILED|NO TESTS RAN).*)$", text,
                     re.MULTILINE)
    if not ran:
        return None
    passed = failed = 0
    for count, verdict in ran:
        number = {name: int(n) for name, n in re.findall(r"(\w+)=(\d+)", verdict)}
        bad = (number.get("failures", 0) + number.get("errors", 0)
               + number.get("successes", 0))  # "unexpected successes"
        bad += int(count) == 0
        failed += bad
        passed += max(int(count) - bad - number.get("skipped", 0), 0)
    return passed, failed


def of_tap(text):
    passed, failed = last(r"^# pass (\d+)$", text), last(r"^# fail (\d+)$", text)
    return (int(passed), int(failed)) if passed and failed else None


def of_plain(text):
    line = last(r"^(\d+) passed, (\d+) failed$", text)
    return (int(line[0]), int(line[1])) if line else None


def count(test):
    """Returns (passed, failed) for one line of the log."""
    if test["result"] == "SKIP":
        return 0, 0
    text = test.get("stdout", "") + "\n" + test.get("stderr", "")
    for reader in (of_catch2, of_unittest, of_tap, of_plain):
        counts = reader(text)
        if counts is not None:
            break
    died = test["result"] not in ("OK", "EXPECTEDFAIL")
    if counts is None:
        return (0, 1) if died else (1, 0)
    passed, failed = counts
    return passed, failed + (1 if died and failed == 0 else 0)


def main(path):
    passed = failed = 0
    try:
        with open(path, encoding="utf-8", errors="replace") as log:
            tests = [json.loads(line) for line in log if line.strip()]
    except OSError as error:
        print(f"cannot read the test log, the tests did not run: {error}\n0 passed, 1 failed")
        return 1
    for test in tests:
        good, bad = count(test)
        passed += good
        failed += bad
        if bad:
            print(f"{test['name']}: {bad} failed ({test['result']})")
        elif test["result"] == "SKIP":
            print(f"{test['name']}: skipped")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

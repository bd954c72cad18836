"""clang-tidy over every .cc of src/ and the headers it includes, on all cores.

usage: clang_tidy.py BUILD_FOLDER [FILE]...

.clang-tidy says which checks; tidy_test.py shows that they catch something. The build folder has to
be clang's, with the generated headers. Ends with the line `N passed, N failed`, in files.
"""

import concurrent.futures
import os
import subprocess
import sys

import source_tree

PROGRAM = "clang-tidy-14"


def findings(path, *arguments):
    """What clang-tidy says of a file; "": nothing."""
    result = subprocess.run(
        [PROGRAM, "--quiet", "--config-file=" + os.path.join(source_tree.ROOT, ".clang-tidy"),
         path, *arguments],
        cwd=source_tree.ROOT, capture_output=True, text=True, check=False)
    return "" if result.returncode == 0 else result.stdout or result.stderr or "it failed"


def main(build, files):
    files = files or [path for path in source_tree.paths()
                      if path.startswith("src/") and path.endswith(".cc")]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(lambda path: findings(path, "-p", build), files):
            if found:
                failed += 1
                print(found, flush=True)
    print(f"{len(files) - failed} passed, {failed} failed")
    return 1 if failed or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))

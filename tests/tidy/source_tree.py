"""The files of the source tree that people write."""

import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOP = ("src", "proto", "tests", "tools", "systemd", "docs", ".ci")
TOP_FILES = ("meson.build", "meson_options.txt", "README.md")
# Data that was seen somewhere, and what tools make.
SKIP = ("tests/data", "tests/interop/node_modules")
BINARY = (".png", ".jpg", ".db", ".pyc", ".gz", ".xz")


def paths():
    """Paths from the root, with /, sorted."""
    found = [name for name in TOP_FILES if os.path.isfile(os.path.join(ROOT, name))]
    for top in TOP:
        for folder, folders, files in os.walk(os.path.join(ROOT, top)):
            relative = os.path.relpath(folder, ROOT)
            folders[:] = sorted(name for name in folders if name != "__pycache__"
                                and f"{relative}/{name}" not in SKIP)
            found += [f"{relative}/{name}" for name in sorted(files)
                      if not name.endswith(BINARY) and name != "package-lock.json"]
    return found


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()

"""Writes a text file as a C++ raw string literal: embed.py INPUT OUTPUT."""
import sys

text = open(sys.argv[1], encoding="utf-8").read()
assert ')sql"' not in text
with open(sys.argv[2], "w", encoding="utf-8") as out:
    out.write('R"sql(' + text + ')sql"\n')

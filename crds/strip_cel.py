#!/usr/bin/env python3
"""Prints a CustomResourceDefinition without its CEL rules, for API servers before 1.25.

usage: strip_cel.py FILE > legacy/FILE
Works on lines: a rules block is the key and everything that is indented deeper or is a list item at its own depth.
"""
import sys

KEY = "x-kubernetes-validations:"


def indent(line):
    return len(line) - len(line.lstrip(" "))


def strip(lines):
    block = None
    for line in lines:
        stripped = line.strip()
        if block is not None:
            inside = indent(line) > block or (indent(line) == block and stripped.startswith("- "))
            if inside:
                continue
            block = None
        if stripped == KEY:
            block = indent(line)
            continue
        yield line


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print("# Made by ../strip_cel.py from ../" + sys.argv[1].rsplit("/", 1)[-1] + "; do not edit.")
    sys.stdout.writelines(strip(open(sys.argv[1], encoding="utf-8")))

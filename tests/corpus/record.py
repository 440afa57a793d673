#!/usr/bin/env python3
"""Makes a capture of a report, for the tests of the rules: what was measured, and which rules found something in it.

usage: record.py REPORT.json tests/captures/PROFILER/NAME.json

Read the report before: a capture says that these findings are right.
"""
import json
import sys


def capture(report):
    """What tests/unit/rules_capture.h reads; members that were not measured are left out."""
    measured = {key: value for key, value in report["measured"].items() if value not in (None, "")}
    return {"measured": measured, "findings": [finding["id"] for finding in report["findings"]]}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as f:
        report = json.load(f)
    with open(sys.argv[2], "w", encoding="utf-8") as f:
        json.dump(capture(report), f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()

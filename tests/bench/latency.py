#!/usr/bin/env python3
"""How long a CPU session takes from the order to its first sample, and from its end until the library is out of the process: medians,
90th percentiles and maxima over sessions one after the other in a busy process, as the agent runs them.

usage: latency.py [--sessions N] [--framework NAME]...      prints a Markdown table
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path.insert(0, ROOT)
from tests.lib import dotnet  # noqa: E402

KEYS = {"first_sample_ms": "order to first sample", "known_ms": "order to first sample known", "left_ms": "end to unmapped"}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sessions", type=int, default=20)
    options.add_argument("--framework", action="append", choices=dotnet.FRAMEWORKS)
    options = options.parse_args()
    print("| framework | what, ms | median | 90% | most |\n|---|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory(prefix="drdotnet-bench-") as folder:
        for framework in options.framework or dotnet.FRAMEWORKS:
            with dotnet.App("hot", framework, folder) as app:
                app.warm()
                done = subprocess.run([ROOT + "/build/release/tests/latency", str(app.pid), ROOT + "/build/release/libdrdotnet.so",
                                       str(options.sessions)], capture_output=True, text=True, timeout=60 + 10 * options.sessions)
            rows = [json.loads(line) for line in done.stdout.splitlines()]
            if done.returncode or not rows:
                sys.exit(done.stderr)
            for key, what in KEYS.items():
                values = sorted(row[key] for row in rows)
                print("| %s | %s | %.1f | %.1f | %.1f |" % (framework, what, values[len(values) // 2], values[int(len(values) * 0.9)], values[-1]),
                      flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

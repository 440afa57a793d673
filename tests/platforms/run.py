#!/usr/bin/env python3
"""The tests of what each profiler tells, and of what a session leaves behind, on another platform: make platforms PLATFORM=musl. Sample
applications for it are published first. What cannot be there is skipped, by its name and with the reason.

usage: run.py PLATFORM [--only TEXT]... [--jobs N]"""
import argparse
import os
import subprocess
import sys

from tests.lib import platforms, proc

RUN = [sys.executable, "tests/run.py"]


def names(platform):
    """What there is, without what cannot be there, and that with the reasons."""
    words = [word for part in platforms.TESTS for word in ("--only", part)]
    listed = subprocess.run([*RUN, "--list", *words], cwd=proc.ROOT, capture_output=True, text=True, check=True).stdout.split()
    skipped = {name: reason for name in listed for part, reason in platforms.SKIPPED[platform].items() if part in name}
    return [name for name in listed if name not in skipped], skipped


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("platform", choices=platforms.FRAMEWORKS)
    options.add_argument("--only", action="append", default=[])
    options.add_argument("--jobs", type=int)
    options = options.parse_args()
    reason = platforms.why_not(options.platform) or platforms.publish(
        options.platform, {name: platforms.APPLICATIONS for name in platforms.FRAMEWORKS[options.platform]})
    if reason:
        print("nothing is tested on %s: %s" % (options.platform, reason))
        return 1
    wanted, skipped = names(options.platform)
    wanted = [name for name in wanted if not options.only or any(text in name for text in options.only)]
    for name, why in sorted(skipped.items()):
        print("SKIPPED %s (%s)" % (name, why), flush=True)
    jobs = ["--jobs", str(options.jobs)] if options.jobs else []
    return subprocess.run([*RUN, *jobs, *[word for name in wanted for word in ("--only", name)]], cwd=proc.ROOT,
                          env={**os.environ, "DRDOTNET_PLATFORM": options.platform}).returncode


if __name__ == "__main__":
    sys.exit(main())

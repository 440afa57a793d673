"""Makes docs/images/report.png: the page of a real report, as a browser shows it.

usage: python3 -m tests.demo.screenshot [--load NAME] [--seconds N] [-o FILE]"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

from tests.lib import browser, dotnet, proc
from tests.lib.local import DRDOTNET

WIDTH, HEIGHT, MAX_BYTES = 1200, 1120, 250 * 1024


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--load", default="web")
    options.add_argument("--seconds", type=int, default=15)
    options.add_argument("-o", default=os.path.join(proc.ROOT, "docs/images/report.png"))
    options = options.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        with dotnet.App(options.load, "net10.0", folder) as app:
            app.warm(3000)
            subprocess.run([DRDOTNET, "run", "--profiler", "CPUHotpaths", "--duration", "%ds" % options.seconds, "--pid", str(app.pid),
                            "-o", folder + "/report"], check=True, stdin=subprocess.DEVNULL)
        with browser.Browser(folder) as chromium:
            page = chromium.open("file://%s/report/report.html" % folder, width=WIDTH, height=HEIGHT)
            page.picture(folder + "/report.png")
            assert page.problems == [], page.problems
        size = os.path.getsize(folder + "/report.png")
        assert size <= MAX_BYTES, size
        os.makedirs(os.path.dirname(options.o), exist_ok=True)
        shutil.copyfile(folder + "/report.png", options.o)
        print("%s: %d bytes" % (options.o, size))


if __name__ == "__main__":
    sys.exit(main())

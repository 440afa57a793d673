#!/usr/bin/env python3
"""How soon the web page is seen and how much is transferred for it: `drdotnet serve` on loopback, headless Chromium, nothing cached.

usage: page.py [--rounds N] [--json]"""
import argparse
import json
import statistics
import sys
import tempfile

from tests.lib import browser, proc, serve

BOUNDS = {"paint_ms": 200, "transfer_kb": 150}  # what the product promises
FIGURES = """(() => {
	const paint = Object.fromEntries(performance.getEntriesByType('paint').map(p => [p.name, p.startTime]));
	const all = performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'));
	const files = all.filter(r => !r.name.includes('/api/'));
	const bytes = files.reduce((n, r) => n + r.transferSize, 0);
	return {paint: paint['first-paint'], content: paint['first-contentful-paint'], bytes, files: files.length};
})()"""


def once(b, server):
    page = b.open("about:blank")
    page.call("Network.setCacheDisabled", cacheDisabled=True)
    page.call("Page.navigate", url="%s/#token=%s" % (server.url, server.token))
    proc.wait_until(lambda: page.value("document.querySelector('main h1') && !document.querySelector('.skeleton')"), 60, "the list of processes")
    found = proc.wait_until(lambda: (lambda f: f if f["paint"] else None)(page.value(FIGURES)), 60, "the first paint")
    page.close()
    return found


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=20)
    options.add_argument("--json", action="store_true")
    options = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="drdotnet-bench-", ignore_cleanup_errors=True) as folder, \
            serve.Serve(folder) as server, browser.Browser(folder) as b:
        once(b, server)  # the browser's own start
        all_of = [once(b, server) for _ in range(options.rounds)]
    paints = sorted(f["paint"] for f in all_of)
    found = {"rounds": len(all_of), "paint_ms": statistics.median(paints), "paint_p95_ms": paints[int(0.95 * (len(paints) - 1))],
             "content_ms": statistics.median(f["content"] for f in all_of), "transfer_kb": all_of[0]["bytes"] / 1024, "files": all_of[0]["files"]}
    if options.json:
        print(json.dumps(found))
        return
    print("first paint           %6.0f ms (median of %d), %.0f ms (p95); bound %d ms" % (found["paint_ms"], found["rounds"], found["paint_p95_ms"],
                                                                                         BOUNDS["paint_ms"]))
    print("first content         %6.0f ms (median)" % found["content_ms"])
    print("transferred           %6.1f KiB in %d files; bound %d KiB" % (found["transfer_kb"], found["files"], BOUNDS["transfer_kb"]))


if __name__ == "__main__":
    sys.exit(main())

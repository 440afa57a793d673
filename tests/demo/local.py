"""`make demo`: a sample application that burns CPU in a known place, the sample session on it, and what it says."""
import os
import sys
import time

from tests.demo import ending
from tests.lib import dotnet, proc

OUT = os.path.join(proc.ROOT, "build/demo")
DRDOTNET = os.path.join(proc.ROOT, "build/release/drdotnet")
SESSION = "deploy/samples/cpu-hotpaths.yaml"


def main():
    reports = os.path.join(OUT, time.strftime("%Y%m%d-%H%M%S"))
    ending.end_in_order()
    os.makedirs(OUT, exist_ok=True)
    print("Starting the sample application: one of its threads is busy, %s" % dotnet.path("net10.0"))
    with dotnet.App("hot", "net10.0", OUT) as app:
        app.warm()
        words = [DRDOTNET, "run", "-f", SESSION, "--pid", str(app.pid), "-o", reports]
        print("\n$ " + " ".join(os.path.relpath(w, proc.ROOT) if w.startswith("/") else w for w in words), flush=True)
        code = ending.run_to_its_end(words, cwd=proc.ROOT)
        if code == 0:
            print("\nThe application measured itself meanwhile:")
            for place, share in sorted(app.shares().items(), key=lambda x: -x[1]):
                print("  %5.1f%%  %s" % (100 * share, place))
    return code


if __name__ == "__main__":
    sys.exit(main())

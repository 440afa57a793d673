"""Programs of the tests in Go, built with Debian's packages of libraries.

    go.unavailable("github.com/Masterminds/sprig")    why not, or None
    go.program("tests/system/deploy/chart_render")           its path in build/tools, built when its main.go is newer
"""
import os
import shutil
import subprocess

from tests.lib import proc

LIBRARIES = "/usr/share/gocode"


def unavailable(library):
    if not shutil.which("go") or not os.path.isdir(LIBRARIES + "/src/" + library):
        return "no Go with %s: tests/setup/install.sh test" % os.path.basename(library)
    return None


def program(folder):
    path = os.path.join(proc.ROOT, "build/tools", os.path.basename(folder))
    if not os.path.exists(path) or os.path.getmtime(path) < os.path.getmtime(os.path.join(proc.ROOT, folder, "main.go")):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        env = {**os.environ, "GO111MODULE": "off", "GOPATH": LIBRARIES, "GOFLAGS": ""}
        new = "%s.%d" % (path, os.getpid())
        subprocess.run(["go", "build", "-o", new, "./" + folder], check=True, cwd=proc.ROOT, env=env)
        os.rename(new, path)
    return path

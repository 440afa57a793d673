"""Drives storage_tool.c: the controller's grants, the agent's uploads and spool, the controller's own store."""
import json
import os
import subprocess

from tests.lib import proc

PROGRAM = os.path.join(proc.ROOT, "build/release/tests/storage-tool")
MEDIA = "application/octet-stream"


def run(*words, seconds=60):
    """The last answer of a command."""
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL)
    if not done.stdout:
        raise AssertionError("%s: exit code %d, no answer\n%s" % (words[0], done.returncode, done.stderr))
    return json.loads(done.stdout.splitlines()[-1])


class OwnStore:
    """`prefix`: words before the program, such as those that give it a file system of its own."""

    def __init__(self, folder, quota, expiry=0, prefix=()):
        self.popen = subprocess.Popen([*prefix, PROGRAM, "own", folder, str(quota), str(expiry)], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True)
        self.started = self._answer()

    def _answer(self):
        line = self.popen.stdout.readline()
        if not line:
            raise AssertionError("the store ended with %s" % self.popen.wait(10))
        return json.loads(line)

    def __call__(self, *words):
        self.popen.stdin.write(" ".join(map(str, words)) + "\n")
        self.popen.stdin.flush()
        return self._answer()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.popen.stdin.close()
        self.popen.stdout.close()
        self.popen.wait(10)

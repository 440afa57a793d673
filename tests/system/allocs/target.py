"""The sample application whose allocations are known, with a folder of its own: for sessions, and for a driver of the library."""
import glob
import os
import shutil
import tempfile

from tests.lib import dotnet, proc
from tests.system.profiler import tools


class Target(dotnet.AllocApp):
    def __init__(self, mode, framework, arguments=(), **more):
        self.folder = self.tmp = tempfile.mkdtemp(prefix="drdotnet-allocs-")
        os.chmod(self.folder, 0o755)
        try:
            super().__init__(mode, framework, self.folder, arguments, env={"TMPDIR": self.folder, **more.pop("env", {})}, **more)
            pattern = "%s/dotnet-diagnostic-%d-*-socket" % (self.folder, self.pid)
            self.socket = proc.wait_until(lambda: glob.glob(pattern), 10, "its socket")[0]
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        self.library = os.path.join(self.folder, "libdrdotnet-test.so")
        shutil.copy(tools.LIBRARY, self.library)

    def stop(self, *args, **kwargs):
        try:
            return super().stop(*args, **kwargs)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def state(self):
        """For the message of a failed test."""
        return "its last words: " + self.log()[-2000:]

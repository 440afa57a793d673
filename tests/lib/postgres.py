"""A real server of PostgreSQL for a test, where Debian's package is installed: on loopback, without a password, in a folder that goes with it.

    with postgres.Server(folder) as server:
        server.connection  # for Npgsql
"""
import glob
import os
import pwd
import shutil
import signal
import subprocess
import tempfile

from tests.lib import proc


def missing():
    """Why there is none, or None."""
    if not _programs():
        return "no PostgreSQL on this machine: apt-get install postgresql"
    if os.geteuid() == 0 and not _user():
        return "PostgreSQL does not run as root, and there is no user postgres"
    return None


def _programs():
    found = [os.path.dirname(path) for path in glob.glob("/usr/lib/postgresql/*/bin/initdb")]
    return max(found, key=lambda path: int(path.split("/")[4]), default=None)


def _user():
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return None


class Server(proc.Process):
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="drdotnet-postgres-")
        user, who = _user() if os.geteuid() == 0 else None, {}
        if user:
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            who = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        data, (self.port,) = os.path.join(self.folder, "data"), proc.free_ports(1)
        try:
            subprocess.run([_programs() + "/initdb", "-D", data, "-U", "shop", "-A", "trust", "--no-sync", "--locale=C", "-E", "UTF8"], check=True,
                           stdout=subprocess.DEVNULL, cwd=self.folder, timeout=proc.patience(60), **who)
            super().__init__([_programs() + "/postgres", "-D", data, "-h", "127.0.0.1", "-p", self.port, "-k", self.folder, "-c", "fsync=off",
                              "-c", "shared_buffers=16MB", "-c", "max_connections=150"], log=os.path.join(self.folder, "log"), cwd=self.folder, **who)
            self.wait_log("database system is ready to accept connections", 30)
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        self.connection = "Host=127.0.0.1;Port=%d;Username=shop;Database=postgres" % self.port

    def stop(self, how=signal.SIGINT, seconds=10):
        try:
            return super().stop(how, seconds)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

""""Pods" made with unshare: own mount and pid namespaces, a root of their own with a tmpfs at /tmp, the control groups that
a kubelet would make, and the sample application as process 1.

    with pod.Pod(folder, "hot", framework="net8.0", user=10001, readonly=True) as p:
        p.pid (outside), p.uid and p.container_id (for the pod object), p.tmp (seen from outside)
"""
import json
import os
import signal
import sys
import uuid

from tests.lib import dotnet, proc

HERE = os.path.dirname(os.path.abspath(__file__))
CGROUP_ROOT = "/sys/fs/cgroup"


def unavailable():
    """Why this machine cannot make them, or None."""
    return None if os.geteuid() == 0 else "making pods with unshare needs root"


def cgroup_path(style, uid, container_id):
    """Where containerd's kubelet puts a burstable pod's container; style is the driver: systemd or cgroupfs, there below a root of its own: a kubelet
    that runs on this machine ends what it does not know in /kubepods."""
    if style == "systemd":
        return ("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod%s.slice/cri-containerd-%s.scope"
                % (uid.replace("-", "_"), container_id))
    return "/kubelet/kubepods/burstable/pod%s/%s" % (uid, container_id)


def hierarchies():
    """The mounted control group hierarchies that this machine lets us write to."""
    if os.path.exists(CGROUP_ROOT + "/cgroup.procs"):
        return [CGROUP_ROOT]
    names = ("cpu,cpuacct", "cpu", "cpuacct", "memory", "freezer", "pids", "systemd", "unified")
    found = {os.path.realpath(os.path.join(CGROUP_ROOT, n)) for n in names}
    return sorted(h for h in found if os.access(h + "/cgroup.procs", os.W_OK))


def children(pid):
    """The processes that the main thread of a process has made."""
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return [int(word) for word in f.read().split()]


class Pod(dotnet.App):
    def __init__(self, folder, load, framework="net10.0", user=0, readonly=False, shared_tmp=None, driver="systemd",
                 cpu_limit=None, arguments=(), env=None, uid=None, tmpdir=None, beside=(), program=None, binds=None,
                 tmp_mount="tmpfs"):
        """`uid` of another pod makes this one more container of it; `beside`: loads of more processes of this container;
        `tmpdir`: the value of TMPDIR, a folder made for the user; `program`: (folder to be /app, words) instead of the sample
        application; `binds`: {folder outside: its place inside}; `tmp_mount`: what is at /tmp: "tmpfs", "noexec", "small" (a
        tmpfs of 64 KB) or "none" (a folder of the root)."""
        self.uid = uid or str(uuid.uuid4())
        self.container_id = uuid.uuid4().hex + uuid.uuid4().hex
        self.cgroup = cgroup_path(driver, self.uid, self.container_id)
        self.folders = [h + self.cgroup for h in hierarchies()]
        root = os.path.join(os.path.realpath(folder), "root-" + self.container_id[:12])
        os.makedirs(root)
        try:
            for cgroup in self.folders:
                os.makedirs(cgroup)
                _share_machine(cgroup)
            self._limit_cpu(cpu_limit)
            app, words = program or (os.path.dirname(dotnet.path(framework)), ["/app/Checkout", load, *arguments])
            order = {"cgroups": self.folders, "root": root, "app": app, "binds": binds or {},
                     "tmp": shared_tmp, "tmp_mount": tmp_mount, "tmpdir": tmpdir, "readonly": readonly, "user": user,
                     "words": words, "beside": [["/app/Checkout", other] for other in beside]}
            prefix = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--", sys.executable, HERE + "/pod_init.py",
                      json.dumps(order)]
            inner_env = {"PATH": "/usr/bin:/bin", "TMPDIR": tmpdir or "", **(env or {})}
            super().__init__(load, framework, folder, env=inner_env, prefix=prefix)
            self.pid = children(self.pid)[0]
            self.beside = children(self.pid)
            self.cpu_outside = float(self.log().split("outside ")[1].split()[0])  # of process 1, before it was in its control groups
            self.tmp = shared_tmp or "/proc/%d/root%s" % (self.pid, tmpdir or "/tmp")
        except BaseException:
            self._remove_cgroups()
            raise

    def _limit_cpu(self, cores):
        """As kubelet does it: a quota in each period of 100 ms."""
        for folder in self.folders if cores else ():
            if os.path.exists(folder + "/cpu.cfs_quota_us"):
                _write(folder + "/cpu.cfs_quota_us", "%d" % (cores * 100000))
            elif os.path.exists(folder + "/cpu.max"):
                _write(folder + "/cpu.max", "%d 100000" % (cores * 100000))

    def group_file(self, *names):
        """The first of these files that a control group of this container has; None: this machine has no such controller."""
        paths = [folder + "/" + name for folder in self.folders for name in names]
        return next((path for path in paths if os.path.exists(path)), None)

    def stop(self, how=signal.SIGKILL, seconds=10):
        if self.pid != self.popen.pid and not self.ended():
            try:
                os.kill(self.pid, how)  # unshare waits for it and ignores the signal itself
            except ProcessLookupError:  # it is just ending
                pass
        code = super().stop(how, seconds)
        proc.wait_until(self._remove_cgroups, 10, "the control groups of the pod are empty")
        return code

    def _remove_cgroups(self):
        for folder in self.folders:
            try:
                os.rmdir(folder)
            except FileNotFoundError:
                pass
            except OSError:
                return False
            for parent in _parents_below(folder):
                try:
                    os.rmdir(parent)
                except OSError:  # another pod is in there
                    break
        return True


class Stranger(proc.Process):
    """A program that is no .NET application, in the control groups of a pod's container."""
    def __init__(self, folder, words, uid=None):
        self.uid = uid or str(uuid.uuid4())
        self.container_id = uuid.uuid4().hex + uuid.uuid4().hex
        self.folders = [h + cgroup_path("systemd", self.uid, self.container_id) for h in hierarchies()]
        for cgroup in self.folders:
            os.makedirs(cgroup)
        join = 'for g in $0; do echo $$ > "$g/cgroup.procs"; done; exec "$@"'
        super().__init__(["sh", "-c", join, " ".join(self.folders), *words], log=os.path.join(folder, "stranger.log"))

    def stop(self, how=signal.SIGKILL, seconds=10):
        code = super().stop(how, seconds)
        proc.wait_until(self._remove_cgroups, 10, "the control groups of the pod are empty")
        return code

    _remove_cgroups = Pod._remove_cgroups


def _share_machine(folder):
    """As a kubelet it weighs all pods together by the machine's processors: else they all count as one process."""
    top = [folder, *_parents_below(folder)][-1]
    if os.path.exists(top + "/cpu.shares"):
        _write(top + "/cpu.shares", "%d" % (1024 * os.cpu_count()))
    elif os.path.exists(top + "/cpu.weight"):
        _write(top + "/cpu.weight", "%d" % min(10000, 39 * os.cpu_count()))


def _parents_below(folder):
    """The folders above a container's that were made for pods, from the inside out."""
    parent = os.path.dirname(folder)
    while "kube" in os.path.relpath(parent, CGROUP_ROOT):
        yield parent
        parent = os.path.dirname(parent)


def _write(path, text):
    with open(path, "w") as f:
        f.write(text)

"""Process 1 of a "pod" of the tests (see pod.py): joins its control groups, gets a root of its own, becomes the program.

usage: pod_init.py JSON    with {cgroups, root, app, binds, tmp, tmp_mount, tmpdir, readonly, user, words, beside}
"""
import ctypes
import json
import os
import sys
import time

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
SYS_PIVOT_ROOT = 155 if os.uname().machine == "x86_64" else 41
libc = ctypes.CDLL(None, use_errno=True)


def check(result, what):
    if result != 0:
        raise OSError(ctypes.get_errno(), what + ": " + os.strerror(ctypes.get_errno()))


def mount(source, target, kind, flags, data=""):
    os.makedirs(target, exist_ok=True)
    check(libc.mount(source.encode(), target.encode(), kind.encode(), flags, data.encode()), "mount " + target)


def bind_file(path, root):
    open(root + path, "w").close()
    check(libc.mount(path.encode(), (root + path).encode(), b"", MS_BIND, None), "mount " + path)


def build_root(o):
    root = o["root"]
    mount("none", "/", "", MS_REC | MS_PRIVATE)
    mount("tmpfs", root, "tmpfs", MS_NOSUID, "size=1m,mode=755")
    mount("/usr", root + "/usr", "", MS_BIND | MS_REC)
    mount("/etc", root + "/etc", "", MS_BIND | MS_REC)
    for link in ("bin", "sbin", "lib", "lib64"):
        os.symlink("usr/" + link, root + "/" + link)
    mount(o["app"], root + "/app", "", MS_BIND)
    mount("proc", root + "/proc", "proc", 0)
    os.makedirs(root + "/dev")
    for device in ("null", "zero", "random", "urandom"):
        bind_file("/dev/" + device, root)
    for outside, inside in o["binds"].items():
        mount(outside, root + inside, "", MS_BIND)
    if o["tmp"]:
        mount(o["tmp"], root + "/tmp", "", MS_BIND)
    elif o["tmp_mount"] == "none":
        os.mkdir(root + "/tmp")
        os.chmod(root + "/tmp", 0o1777)
    else:
        size = "64k" if o["tmp_mount"] == "small" else "64m"
        mount("tmpfs", root + "/tmp", "tmpfs", MS_NOSUID | MS_NODEV | (MS_NOEXEC if o["tmp_mount"] == "noexec" else 0),
              "size=%s,mode=1777" % size)
    if o["tmpdir"]:
        os.makedirs(root + o["tmpdir"], mode=0o777)
        os.chown(root + o["tmpdir"], o["user"], o["user"])
    if o["readonly"]:
        check(libc.mount(b"none", root.encode(), b"", MS_REMOUNT | MS_BIND | MS_RDONLY, None), "read-only root")
    os.chdir(root)
    check(libc.syscall(SYS_PIVOT_ROOT, b".", b"."), "pivot_root")
    check(libc.umount2(b".", 2), "umount the old root")
    os.chdir("/")


def main():
    o = json.loads(sys.argv[1])
    for folder in o["cgroups"]:
        with open(folder + "/cgroup.procs", "w") as f:
            f.write("0")
    print("outside", time.process_time(), flush=True)  # what was used before, see Pod.cpu_outside
    build_root(o)
    for words in o["beside"]:
        if os.fork() == 0:
            silence = os.open("/dev/null", os.O_WRONLY)
            os.dup2(silence, 1)
            become(words, o["user"])
    become(o["words"], o["user"])


def become(words, user):
    if user:
        words = ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups", "--bounding-set=-all",
                 "--inh-caps=-all", "--no-new-privs", *words]
    os.execvp(words[0], words)


main()

"""Process 1 of a container of kubelet.py: what a container runtime does with an image and a container's configuration. It
enforces no AppArmor profile and makes no network of its own.

usage: container_init.py JSON    with {join: pid of the container to run beside, or 0; root, mounts: [[source, target, readonly]],
                                       readonly, user, group, groups, capabilities, no_new_privs, env, words,
                                       seccomp: [launcher, how, profile, log], or nothing}
"""
import ctypes
import json
import os
import sys

MS_RDONLY, MS_NOSUID, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 32, 4096, 16384, 1 << 18
CLONE_NEWNS = 0x20000
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
SYS_PIVOT_ROOT = 155 if os.uname().machine == "x86_64" else 41
CAPABILITIES = {"CHOWN": 0, "DAC_OVERRIDE": 1, "SETPCAP": 8, "NET_BIND_SERVICE": 10, "SYS_PTRACE": 19, "SYS_ADMIN": 21, "PERFMON": 38}
libc = ctypes.CDLL(None, use_errno=True)


def check(result, what):
    if result != 0:
        raise OSError(ctypes.get_errno(), what + ": " + os.strerror(ctypes.get_errno()))


def mount(source, target, kind, flags):
    check(libc.mount(source.encode(), target.encode(), kind.encode(), flags, None), "mount " + target)


def bind(source, target, readonly):
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        open(target, "a").close()
    mount(source, target, "", MS_BIND | MS_REC)
    if readonly:
        mount("none", target, "", MS_REMOUNT | MS_BIND | MS_RDONLY)


def build_root(o):
    root = o["root"]
    mount("none", "/", "", MS_REC | MS_PRIVATE)
    mount(root, root, "", MS_BIND)
    mount("proc", root + "/proc", "proc", 0)
    mount("tmpfs", root + "/dev", "tmpfs", MS_NOSUID)
    mount("/sys", root + "/sys", "", MS_BIND | MS_REC)
    for device in ("null", "zero", "random", "urandom"):
        bind("/dev/" + device, root + "/dev/" + device, False)
    for source, target, readonly in o["mounts"]:
        place = os.path.realpath(root + os.path.dirname(target))  # /var/run is a link to /run
        if not (place + "/").startswith(root + "/"):
            place = root + place
        bind(source, os.path.join(place, os.path.basename(target)), readonly)
    if o["readonly"]:
        mount("none", root, "", MS_REMOUNT | MS_BIND | MS_RDONLY)
    os.chdir(root)
    check(libc.syscall(SYS_PIVOT_ROOT, b".", b"."), "pivot_root")
    check(libc.umount2(b".", 2), "umount the old root")
    os.chdir("/")


def join(pid):
    mounts = os.open("/proc/%d/ns/mnt" % pid, os.O_RDONLY)
    check(libc.setns(mounts, CLONE_NEWNS), "setns")
    os.close(mounts)
    os.chdir("/")


def become(o):
    with open("/proc/sys/kernel/cap_last_cap") as f:
        last = int(f.read())
    kept = {CAPABILITIES[name] for name in o["capabilities"]}
    for number in range(last + 1):
        if number not in kept:
            check(libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0), "drop a capability")
    if o["no_new_privs"]:
        check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges")
    os.setgroups(o["groups"])
    os.setresgid(o["group"], o["group"], o["group"])
    os.setresuid(o["user"], o["user"], o["user"])
    os.umask(0o022)
    if o["seccomp"]:
        launcher, profile, log = o["seccomp_files"]
        os.execve(launcher, ["under-seccomp", o["seccomp"][1], "fd:%d" % profile, "fd:%d" % log, *o["words"]], o["env"])
    os.execve(o["words"][0], o["words"], o["env"])


def open_seccomp(launcher, _, profile, log):
    """From outside of the container, as a runtime has them."""
    files = [os.open(launcher, os.O_RDONLY), os.open(profile, os.O_RDONLY), os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)]
    os.fchmod(files[2], 0o666)
    for fd in files:
        os.set_inheritable(fd, True)
    return files


def main():
    o = json.loads(sys.argv[1])
    if o["seccomp"]:
        o["seccomp_files"] = open_seccomp(*o["seccomp"])
    if o["join"]:
        join(o["join"])
    else:
        build_root(o)
    become(o)


main()

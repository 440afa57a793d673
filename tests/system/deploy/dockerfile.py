"""Reads deploy/docker/Dockerfile, and carries it out where there is no Docker: its stages from `debian` in a root file system made by
debootstrap, its RUN lines with chroot, as root on a Debian. `make image-check` does that: some minutes.

usage: python3 -m tests.system.deploy.dockerfile ARCH FOLDER      ARCH: amd64 or arm64; the images come into FOLDER/agent, controller and cli
"""
import os
import re
import shutil
import subprocess
import sys

from tests.lib import proc

PATH = os.path.join(proc.ROOT, "deploy/docker/Dockerfile")


def read():
    """[(instruction, its words as text)], lines that go on joined."""
    with open(PATH, encoding="utf-8") as f:
        text = re.sub(r"^#.*\n", "", f.read(), flags=re.M)
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    return [tuple(line.split(None, 1)) for line in lines if line.strip()]


def stages():
    """{name: [(instruction, text)]} of what follows each FROM, with ("FROM", base) first."""
    found, name = {}, None
    for instruction, text in read():
        if instruction == "FROM":
            words = [w for w in text.split() if not w.startswith("--")]
            name = words[2]
            found[name] = [("FROM", words[0])]
        elif name:
            found[name].append((instruction, text))
    return found


def ignored():
    with open(os.path.join(proc.ROOT, ".dockerignore"), encoding="utf-8") as f:
        return set(f.read().split())


class Chroot:
    """The build stage's file system."""

    def __init__(self, root, args):
        self.root, self.args, self.folder = root, args, "/"

    def run(self, text):
        env = {"PATH": os.environ["PATH"], "HOME": "/root", "DEBIAN_FRONTEND": "noninteractive", **self.args}
        subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"',
                        self.root, "/bin/sh", "-c", "cd %s && %s" % (self.folder, text)], check=True, env=env)

    def copy(self, text):
        *sources, target = text.split()
        into = os.path.normpath(os.path.join(self.folder, target))
        place = self.root + into
        os.makedirs(place, exist_ok=True)
        for source in sources:
            path = os.path.join(proc.ROOT, source)
            if os.path.isdir(path):
                names = subprocess.run(["git", "ls-files"], cwd=path, check=True, capture_output=True, text=True).stdout.split("\n")
                for name in filter(None, names):
                    if os.path.exists(os.path.join(path, name)):
                        os.makedirs(os.path.dirname(os.path.join(place, name)), exist_ok=True)
                        shutil.copy2(os.path.join(path, name), os.path.join(place, name))
            else:
                shutil.copy2(path, place)

    def carry_out(self, instructions):
        for instruction, text in instructions:
            if instruction == "ARG":
                name, _, value = text.partition("=")
                self.args.setdefault(name, value)
            elif instruction == "WORKDIR":
                self.folder = text
                os.makedirs(self.root + text, exist_ok=True)
            elif instruction in ("RUN", "COPY"):
                (self.run if instruction == "RUN" else self.copy)(text)
            elif instruction != "FROM":
                raise SystemExit("not understood: " + instruction)


def sources():
    """This machine's own sources of Debian packages, and how it reaches them."""
    for name in ("/etc/apt/sources.list", "/etc/apt/sources.list.d", "/etc/apt/apt.conf.d", "/etc/apt/apt.conf", "/etc/apt/preferences.d",
                 "/etc/apt/trusted.gpg.d", "/etc/apt/keyrings", "/usr/share/keyrings", "/etc/resolv.conf", "/etc/ssl/certs",
                 "/usr/local/share/ca-certificates", "/usr/share/ca-certificates", "/etc/apt/auth.conf.d"):
        if os.path.exists(name):
            yield name


def mirror():
    text = "".join(subprocess.run("cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2> /dev/null", shell=True, capture_output=True, text=True).stdout)
    return re.search(r"[a-z+]+://\S+/debian/?(?=\s)", text + "\n").group(0)


def main():
    arch, folder = sys.argv[1], os.path.realpath(sys.argv[2])
    root = folder + "/build"
    if not os.path.exists(root + "/etc/debian_version"):
        subprocess.run(["debootstrap", "--variant=minbase", "bookworm", root, mirror()], check=True, stdout=subprocess.DEVNULL)
        for name in sources():
            subprocess.run(["cp", "-aLT", name, root + name], check=False, stderr=subprocess.DEVNULL)
    for left in ("/src", "/rootfs"):
        shutil.rmtree(root + left, ignore_errors=True)
    found = stages()
    Chroot(root, {"TARGETARCH": arch}).carry_out(found["build"])
    for name, instructions in found.items():
        if instructions[0] == ("FROM", "scratch"):
            copied = next(text for instruction, text in instructions if instruction == "COPY").split()
            shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
            subprocess.run(["cp", "-a", root + copied[1], os.path.join(folder, name)], check=True)
            print(name, subprocess.run(["du", "-sh", os.path.join(folder, name)], capture_output=True, text=True).stdout.split()[0])


if __name__ == "__main__":
    main()

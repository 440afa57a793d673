"""deploy/docker/Dockerfile by the rules of the trade. That its build works is shown by `make image-check`, which carries it out."""
import json
import os
import re
import subprocess
import unittest

from tests.system.deploy import dockerfile, manifests
from tests.lib import proc

LABELS = ("title", "description", "licenses", "version", "revision")
ROLES = ("agent", "controller", "cli")


def read(name):
    with open(os.path.join(proc.ROOT, name), encoding="utf-8") as f:
        return f.read()


class Dockerfile(unittest.TestCase):
    one_process = True

    def setUp(self):
        self.stages = dockerfile.stages()

    def of(self, stage, instruction):
        return [text for name, text in self.stages[stage] if name == instruction]

    def test_images_are_the_programs_alone(self):
        self.assertEqual(list(self.stages), ["build", *ROLES])
        for role in ROLES:
            self.assertEqual(self.of(role, "FROM"), ["scratch"])
            self.assertEqual(self.of(role, "COPY"), ["--from=build /rootfs/%s/ /" % role])
            self.assertEqual(self.of(role, "RUN"), [], "there is no shell")
            self.assertEqual(self.of(role, "USER"), ["0:0" if role == "agent" else "65532:65532"])
            entry = json.loads(self.of(role, "ENTRYPOINT")[0])
            self.assertEqual(entry, ["/usr/bin/drdotnet" + {"cli": ""}.get(role, "-" + role)])

    def test_labels_are_those_of_the_specification(self):
        for role in ROLES:
            names = re.findall(r'org\.opencontainers\.image\.(\w+)="([^"]+)"', self.of(role, "LABEL")[0])
            self.assertEqual([n for n, _ in names], list(LABELS))
            self.assertIn("VERSION=" + read("VERSION").strip(), self.of(role, "ARG"))

    def test_what_linters_ask_for(self):
        for name, instructions in self.stages.items():
            for instruction, text in instructions:
                self.assertNotEqual(instruction, "ADD")
                if "apt-get install" in text:
                    self.assertRegex(text, "apt-get update .*--no-install-recommends .*rm -rf /var/lib/apt/lists", name)
        self.assertNotIn(":latest", read("deploy/docker/Dockerfile"))
        self.assertEqual(dockerfile.ignored(), {".git", "build"})

    def test_the_manifests_have_these_images(self):
        if manifests.unavailable():
            self.skipTest(manifests.unavailable())
        found = {c["image"].partition(":")[0] for o in manifests.objects("deploy/manifests").values() if "template" in o.get("spec", {})
                 for c in o["spec"]["template"]["spec"]["containers"]}
        self.assertEqual(found, {"drdotnet-agent", "drdotnet-controller"})

    def test_scripts_have_what_they_read(self):
        copied = self.of("build", "COPY")[0].split()[:-1]
        for name in copied:
            for read_too in re.findall(r'^\. "\$\(dirname "\$0"\)/(\S+)"', read(name), re.M):
                self.assertIn(os.path.join(os.path.dirname(name), read_too), copied, name)

    def test_a_cross_build_is_told_where_its_parts_are(self):
        for arch, folder in (("amd64", "build/release"), ("arm64", "build/release-aarch64-linux-gnu")):
            done = subprocess.run(["make", "-s", "build-folder", "ARCH=" + arch], cwd=proc.ROOT, capture_output=True, text=True,
                                  env={k: v for k, v in os.environ.items() if not k.startswith("MAKE")})
            if os.uname().machine == "x86_64":
                self.assertEqual(done.stdout.strip(), folder, done.stderr)
        if os.uname().machine == "x86_64":  # nothing of this machine's own folders, where libraries of one architecture only can be installed
            done = subprocess.run(["make", "-Bns", "V=1", "ARCH=arm64", "build/release-aarch64-linux-gnu/obj/common/base/clock.o"], cwd=proc.ROOT,
                                  capture_output=True, text=True, env={k: v for k, v in os.environ.items() if not k.startswith("MAKE")})
            self.assertIn("aarch64-linux-gnu-gcc --sysroot=%s/build/sysroot-arm64 " % proc.ROOT, done.stdout, done.stderr)
            self.assertNotIn("-I/usr/", done.stdout)
        done = subprocess.run(["make", "-s", "build-folder", "ARCH=mips"], cwd=proc.ROOT, capture_output=True, text=True)
        self.assertIn("neither amd64 nor arm64", done.stderr)


if __name__ == "__main__":
    unittest.main()

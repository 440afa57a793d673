"""One library file for glibc and musl, on x64 and arm64: what it asks of a process, and (under an emulator) that its code runs."""
import glob
import os
import re
import shutil
import struct
import subprocess
import tempfile
import unittest

from tests.lib import proc
from tests.system.profiler import tools
from tests.system.profiler.test_channel_protocol import SECRET, Agent, samples_of

MUSL = glob.glob("/lib/ld-musl-*.so.1")
ARM64 = os.path.join(proc.ROOT, "build/release/arm64")
EMULATOR = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]


def readelf(path, *options):
    return subprocess.run(["readelf", "-W", *options, path], check=True, capture_output=True, text=True).stdout


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=proc.patience(60), cwd=proc.ROOT)


class FakeRuntime:
    """A whole session in a process that is no runtime but does as one: the library's code runs, whatever the machine."""

    def session(self, words, library):
        with tempfile.TemporaryDirectory(prefix="drdotnet-test-") as folder, Agent(None, "s", folder) as agent, subprocess.Popen(
                [*words, library, agent.client_data().hex()], stdout=subprocess.PIPE, text=True) as runtime:
            try:
                self.serve(agent)
                self.assertEqual(runtime.wait(proc.patience(30)), 0)
                return runtime.stdout.read().split("\n")[:-1]
            finally:
                runtime.kill()

    def serve(self, agent):
        agent.accept()
        kind, hello = agent.next()
        self.assertEqual((kind, hello.take("HH16s"), hello.take("IHHH")[1:]), (0x0201, (1, 1, SECRET), (99, 1, 7)))
        self.assertEqual(agent.next()[0], 0x0202)
        self.check_stacks(agent, self.sample(agent))
        agent.send(0x0104)
        (_, collections), (_, stats) = agent.until(0x0207)
        start, end, _, generation = collections.take("QQII")
        self.assertTrue(0 < start <= end and generation == 1)
        agent.send(0x0105)
        request, code = agent.next()[1].take("HI")  # refused at first; it goes on asking
        self.assertEqual((request, code), (0x0105, 0x80131367))
        self.assertEqual([agent.next()[0] for _ in range(3)], [0x0208, 0x0209, None])

    def sample(self, agent):
        agent.send(0x0102, struct.pack("<I", 200))
        hertz, threads, _, _ = agent.until(0x0205)[-1][1].take("IIQQ")
        self.assertTrue(hertz == 200 and threads >= 2, (hertz, threads))
        samples = []
        while len(samples) < 60:
            samples += samples_of([agent.next()])
        agent.send(0x0103)
        return samples + list(samples_of(agent.until(0x0205)))

    def check_stacks(self, agent, samples):
        """The three functions stand below each other in nearly every sample of their thread."""
        ips = sorted({ip for s in samples for ip in s[3]})[:4096]
        agent.send(0x0101, struct.pack("<I%dQ" % len(ips), len(ips), *ips))
        *functions, (_, resolved) = agent.until(0x0204)
        names = {}
        for _, r in functions:
            number, flags, start = r.take("QHQ")
            names[number] = ([r.text() for _ in range(4)][3], flags, start > 0)
        self.assertEqual(names, {1: ("fake_inner", 2, True), 2: ("fake_outer", 2, False), 3: ("fake_thread", 2, False)})
        resolved.take("I")
        of = {ip: resolved.take("QI")[0] for ip in ips}
        stacks = [[of.get(ip, 0) for ip in s[3]][:3] for s in samples]
        self.assertGreater(stacks.count([1, 2, 3]) / len(stacks), 0.9, stacks)


class Asks:
    """What the dynamic loader of any process must find."""

    def check(self, path, machine):
        self.assertRegex(readelf(path, "-h"), r"Machine:\s+" + machine)
        dynamic = readelf(path, "-d")
        for word in ("(NEEDED)", "(TEXTREL)", "(RPATH)", "(INIT_ARRAY)", "(FINI_ARRAY)", "(VERNEED)"):
            self.assertNotIn(word, dynamic)
        # of these two the agent makes a need for itself, for musl alone (agent/attach/named_library.h)
        self.assertRegex(dynamic, r"\(SONAME\) .*\[libdrdotnet-0{16}\.so\]")
        self.assertRegex(dynamic, r"\(RUNPATH\) .*\[\$ORIGIN\]")
        programs = readelf(path, "-l")
        self.assertRegex(programs, r"GNU_STACK .* RW +0x")
        self.assertNotRegex(programs, r"LOAD .* RWE ")
        self.assertNotRegex(programs, r"\n +TLS ")
        rows = [line.split() for line in readelf(path, "--dyn-syms").splitlines() if re.match(r"\s*\d+: ", line)]
        exports = sorted(row[7] for row in rows if row[4] == "GLOBAL" and row[6] != "UND")
        self.assertEqual(exports, ["DllCanUnloadNow", "DllGetClassObject", "drdotnet_version"])
        taken = [row[7] for row in rows if row[6] == "UND" and len(row) > 7]
        self.assertGreater(len(taken), 20)
        self.assertEqual([name for name in taken if "@" in name or name.startswith(("__isoc", "__stack")) or name.endswith("_chk")], [])
        return taken


class OneFile(Asks, FakeRuntime, unittest.TestCase):
    def setUp(self):
        tools.build()

    def test_what_it_asks_of_a_process(self):
        self.check(tools.LIBRARY, "Advanced Micro Devices X86-64")

    @unittest.skipUnless(MUSL and os.path.exists(tools.tool("load_check_musl")), "no musl")
    def test_musl_has_all_of_it(self):
        # Listed with a program of musl, as the library itself names no libc; every symbol is bound (BIND_NOW) or complained about.
        listed = run("env", "LD_PRELOAD=" + tools.LIBRARY, MUSL[0], "--list", tools.tool("load_check_musl"))
        self.assertEqual((listed.returncode, listed.stderr), (0, ""))
        self.assertIn(tools.LIBRARY, listed.stdout)
        names = {row.split()[-1].split("@")[0] for row in readelf(os.path.realpath(MUSL[0]), "--dyn-syms").splitlines() if " UND " not in row and row}
        self.assertEqual([name for name in self.check(tools.LIBRARY, "Advanced Micro") if name not in names], [])

    def test_glibc_and_musl_load_and_unload_it(self):
        for program in ["load_check"] + ["load_check_musl"] * os.path.exists(tools.tool("load_check_musl")):
            out = run(tools.tool(program), tools.LIBRARY)
            self.assertEqual((out.returncode, out.stdout), (0, "loaded and unloaded\n"), program)

    def test_a_session_in_a_process_of_glibc(self):
        self.assertEqual(self.session([tools.tool("fake_runtime")], tools.LIBRARY), ["attached", "unmapped", "ended"])

    @unittest.skipUnless(os.path.exists(tools.tool("fake_runtime_musl")), "no musl")
    def test_a_session_in_a_process_of_musl(self):
        # musl unloads nothing: dlclose(3) does nothing there. The library has given its tables back.
        attached, stays, ended = self.session([tools.tool("fake_runtime_musl")], tools.LIBRARY)
        self.assertEqual((attached, ended), ("attached", "ended"))
        self.assertLess(int(re.fullmatch(r"still mapped: (\d+) KB", stays).group(1)), 192)


@unittest.skipUnless(shutil.which("aarch64-linux-gnu-gcc"), "no compiler for arm64")
class Arm64(Asks, FakeRuntime, unittest.TestCase):
    one_process, needs = True, "arm64"

    def setUp(self):
        subprocess.run([*tools.LOCKED, "make", "-s", "arm64-tools"], cwd=proc.ROOT, check=True, timeout=proc.patience(300), stdout=subprocess.DEVNULL)

    def test_what_it_asks_of_a_process(self):
        tools.build()
        self.assertEqual(sorted(self.check(ARM64 + "/libdrdotnet.so", "AArch64")),
                         sorted(self.check(tools.LIBRARY, "Advanced Micro")))

    @unittest.skipUnless(shutil.which(EMULATOR[0]), "no emulator of arm64")
    def test_a_session_in_an_emulator(self):
        self.assertEqual(self.session([*EMULATOR, ARM64 + "/fake_runtime"], ARM64 + "/libdrdotnet.so"), ["attached", "unmapped", "ended"])

    @unittest.skipUnless(shutil.which(EMULATOR[0]), "no emulator of arm64")
    def test_it_runs_in_an_emulator(self):
        out = run(*EMULATOR, ARM64 + "/load_check", ARM64 + "/libdrdotnet.so")
        self.assertEqual((out.returncode, out.stdout), (0, "loaded and unloaded\n"), out.stderr)
        programs = glob.glob(ARM64 + "/unit/**/test_*", recursive=True)
        self.assertGreaterEqual(len(programs), 8)
        for program in programs:
            out = run(*EMULATOR, program)
            self.assertEqual(out.returncode, 0, out.stdout)
            self.assertRegex(out.stdout, r"(?m)^ok - ")
        for part in ("channel", "wire", "signature"):
            seeds = glob.glob(os.path.join(proc.ROOT, "tests/fuzz/corpus", part, "*"))
            out = run(*EMULATOR, "%s/replay_%s" % (ARM64, part), *seeds)
            self.assertEqual(out.stdout, "%d replayed\n" % len(seeds), out.stderr)

"""`make release`: what a user downloads is complete, works without a compiler, says what it is made of, and is the same bytes each time."""
import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest

from tests.system.deploy import chart, dockerfile
from tests.lib import proc

ENV = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
EPOCH = 1700000000
PROGRAMS = ["drdotnet", "drdotnet-agent", "drdotnet-controller", "kubectl-drdotnet"]
ARCH = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
LICENSES = os.path.join(proc.ROOT, "build/tools/cyclonedx-schema/spdx.SNAPSHOT.schema.json")
# SPDX 2.3, clauses 6 to 11: what must be there
REQUIRED = {"document": {"SPDXID", "creationInfo", "dataLicense", "name", "spdxVersion", "documentNamespace"}, "creationInfo": {"created", "creators"},
            "package": {"SPDXID", "name", "downloadLocation"}, "relationship": {"spdxElementId", "relatedSpdxElement", "relationshipType"},
            "external reference": {"referenceCategory", "referenceLocator", "referenceType"}, "checksum": {"algorithm", "checksumValue"},
            "license": {"licenseId", "extractedText"}}


def make(folder):
    subprocess.run(["make", "-s", "release", "DRAFT=1", "RELEASE=" + folder], cwd=proc.ROOT, check=True, capture_output=True, text=True,
                   env={**ENV, "SOURCE_DATE_EPOCH": str(EPOCH), "RELEASE_COMPRESSION": "1"})


def read(*path):
    with open(os.path.join(*path), "rb") as f:
        return f.read()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


class Release(unittest.TestCase):
    one_process = True
    time_limit = 600

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="drdotnet-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.version = read(proc.ROOT, "VERSION").decode().strip()
        cls.made = os.path.join(cls.folder, "release")
        make(cls.made)
        cls.programs = "drdotnet-%s-linux-%s" % (cls.version, ARCH)
        cls.bill = json.loads(read(cls.made, cls.programs + ".spdx.json"))
        cls.packages = {p["SPDXID"]: p for p in cls.bill["packages"]}

    def unpacked(self, name):
        folder = tempfile.mkdtemp(dir=self.folder)
        with tarfile.open(os.path.join(self.made, name)) as archive:
            archive.extractall(folder)
        return folder

    def test_all_is_there_and_has_its_sum(self):
        wanted = {self.programs + ".tar.gz", self.programs + ".spdx.json", "drdotnet-%s.yaml" % self.version, "drdotnet-chart-%s.tgz" % self.version,
                  "drdotnet-%s-deploy.tar.gz" % self.version, "SHA256SUMS"}
        wanted |= {"drdotnet-%s.images" % self.version, "drdotnet-%s.provenance.json" % self.version}
        for role in ("agent", "controller", "cli"):
            wanted |= {"drdotnet-%s-%s-linux-%s.oci.tar" % (role, self.version, ARCH), "drdotnet-%s-%s.oci.tar" % (role, self.version)}
        found = {n for n in os.listdir(self.made) if ARCH in n or "linux" not in n}
        self.assertEqual(found, wanted)
        done = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=self.made, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout.count(": OK")), (0, len(os.listdir(self.made)) - 1), done.stderr)

    def test_the_same_build_makes_the_same_bytes(self):
        again = os.path.join(self.folder, "again")
        make(again)
        self.assertEqual(read(self.made, "SHA256SUMS"), read(again, "SHA256SUMS"))
        shutil.rmtree(again)

    def test_archives_are_in_order(self):
        for name in sorted(os.listdir(self.made)):
            if name.endswith(("gz", ".tar")):
                with tarfile.open(os.path.join(self.made, name)) as archive:
                    members = archive.getmembers()
                self.assertEqual({(m.uid, m.gid, m.uname, m.gname, m.mtime) for m in members}, {(0, 0, "", "", EPOCH)}, name)
                self.assertFalse([m.name for m in members if m.name.startswith(("/", "..")) or "__pycache__" in m.name], name)

    def test_the_provenance_names_each_file(self):
        name = "drdotnet-%s.provenance.json" % self.version
        subjects = {s["name"]: s["digest"]["sha256"] for s in json.loads(read(self.made, name))["subject"]}
        for file in set(os.listdir(self.made)) - {name, "SHA256SUMS"}:
            self.assertEqual(subjects.pop(file), sha256(read(self.made, file)), file)
        images = [line.split() for line in read(self.made, "drdotnet-%s.images" % self.version).decode().splitlines()]
        self.assertEqual(subjects, {name: digest.partition(":")[2] for name, arch, digest in images if arch == "all"})

    def test_the_programs_run_from_where_they_are_unpacked(self):
        top = os.path.join(self.unpacked(self.programs + ".tar.gz"), self.programs)
        self.assertEqual(sorted(os.listdir(top)), ["INSTALL.txt", "LICENSE", "README.md", "bin", "lib", "sbom", "share"])
        self.assertLessEqual(set(PROGRAMS), set(os.listdir(top + "/bin")))
        self.assertIn("libdrdotnet.so", os.listdir(top + "/lib/drdotnet"))
        for name in PROGRAMS:
            done = subprocess.run([os.path.join(top, "bin", name), "--version"], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (0, "%s %s\n" % (name, self.version)), done.stderr)
        self.assertEqual(subprocess.run([top + "/bin/drdotnet", "ps"], capture_output=True).returncode, 0)

    def test_it_names_the_packages_of_each_library(self):
        """That nothing else is needed: what the loader brings in belongs to them or to what they depend on."""
        top = os.path.join(self.unpacked(self.programs + ".tar.gz"), self.programs)
        line = re.search(r"apt-get install --no-install-recommends (.*)", read(top, "INSTALL.txt").decode()).group(1)
        named = set(line.split())
        self.assertLessEqual({"libc6", "libcurl4", "libssl3", "libwebsockets17", "libwebsockets-evlib-ev"}, named)
        self.assertFalse([n for n in named if n.endswith("-dev") or n == "gcc"])
        done = subprocess.run(["apt-get", "install", "--simulate", "--no-install-recommends", *sorted(named)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_images_are_those_of_the_specification(self):
        for role in ("agent", "controller", "cli"):
            folder = self.unpacked("drdotnet-%s-%s-linux-%s.oci.tar" % (role, self.version, ARCH))
            blobs = {"sha256:" + name: read(folder, "blobs/sha256", name) for name in os.listdir(folder + "/blobs/sha256")}
            self.assertEqual({"sha256:" + sha256(data) for data in blobs.values()}, set(blobs))
            self.assertEqual(json.loads(read(folder, "oci-layout")), {"imageLayoutVersion": "1.0.0"})
            (entry,) = json.loads(read(folder, "index.json"))["manifests"]
            manifest = json.loads(blobs[entry["digest"]])
            for descriptor in (entry, manifest["config"], *manifest["layers"]):
                self.assertEqual(len(blobs[descriptor["digest"]]), descriptor["size"])
            config = json.loads(blobs[manifest["config"]["digest"]])
            self.assertEqual((config["os"], config["architecture"]), ("linux", ARCH))
            self.check_config(role, config["config"])
            name = "drdotnet-%s:%s" % (role, self.version)
            self.assertEqual(entry["annotations"]["io.containerd.image.name"], "docker.io/library/" + name, "the name that the manifests' becomes")
            (old,) = json.loads(read(folder, "manifest.json"))
            self.assertEqual(old["RepoTags"], [name])
            self.assertEqual(["sha256:" + os.path.basename(p) for p in (old["Config"], *old["Layers"])],
                             [manifest["config"]["digest"], manifest["layers"][0]["digest"]])
            self.check_layer(role, os.path.join(folder, old["Layers"][0]), config)

    def check_config(self, role, config):
        stage = dict(dockerfile.stages()[role])
        self.assertEqual(config["User"], stage["USER"])
        self.assertEqual(config["Entrypoint"], json.loads(stage["ENTRYPOINT"]))
        self.assertEqual(config["Labels"]["org.opencontainers.image.version"], self.version)
        self.assertEqual(set(config["Labels"]), set(re.findall(r'(org\.\S+?)="', stage["LABEL"])))
        self.assertEqual("Healthcheck" in config, "HEALTHCHECK" in stage)

    def check_layer(self, role, path, config):
        """Its bytes are those that the config names, and what is in it runs."""
        plain = subprocess.run(["gzip", "-dc", path], check=True, capture_output=True).stdout
        self.assertEqual(config["rootfs"]["diff_ids"], ["sha256:" + sha256(plain)])
        root = tempfile.mkdtemp(dir=self.folder)
        os.chmod(root, 0o755)
        subprocess.run(["tar", "-xz", "-C", root, "-f", path], check=True)
        done = subprocess.run(["chroot", "--userspec=" + config["config"]["User"], root, config["config"]["Entrypoint"][0], "--version"],
                              capture_output=True, text=True)
        self.assertIn(self.version, done.stdout, done.stderr)
        self.assertEqual(os.stat(root + "/tmp").st_mode & 0o7777, 0o1777)
        shutil.rmtree(root)

    def test_the_manifests_are_all_of_them(self):
        text = read(self.made, "drdotnet-%s.yaml" % self.version).decode()
        kinds = re.findall(r"^kind: (\w+)$", text, re.M)
        for place in ("crds", "deploy/manifests"):
            for name in os.listdir(os.path.join(proc.ROOT, place)):
                if name.endswith(".yaml"):
                    self.assertIn(read(proc.ROOT, place, name).decode().strip(), text, name)
        self.assertLessEqual({"CustomResourceDefinition", "Namespace", "Deployment", "DaemonSet"}, set(kinds))
        top = os.path.join(self.unpacked("drdotnet-%s-deploy.tar.gz" % self.version), "drdotnet-%s-deploy/deploy/" % self.version)
        for folder in ("kustomize/base", "manifests-shared-tmp"):
            built = subprocess.run(["kubectl", "kustomize", top + folder], capture_output=True, text=True)
            self.assertIn("kind: DaemonSet", built.stdout, built.stderr)

    def test_the_chart_has_real_files(self):
        path = os.path.join(self.made, "drdotnet-chart-%s.tgz" % self.version)
        with tarfile.open(path) as archive:
            self.assertEqual([m.name for m in archive.getmembers() if not (m.isfile() or m.isdir())], [])
            self.assertIn("drdotnet/files/crds-legacy/drdotnet.dev_profilingtriggers.yaml", archive.getnames())
        if not chart.NO_HELM:
            self.assertIn("kind: DaemonSet", chart.helm("template", "drdotnet", path))

    # the bill of materials of the archive, by the specification --------------------------------------------------------

    def has(self, kind, value):
        self.assertLessEqual(REQUIRED[kind], set(value), kind)

    def test_the_bill_has_what_must_be_there(self):
        self.has("document", self.bill)
        self.assertEqual((self.bill["spdxVersion"], self.bill["dataLicense"], self.bill["SPDXID"]), ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT"))
        self.has("creationInfo", self.bill["creationInfo"])
        self.assertEqual(self.bill["creationInfo"]["created"], "2023-11-14T22:13:20Z")
        self.assertTrue(all(re.match(r"(Person|Organization|Tool): ", c) for c in self.bill["creationInfo"]["creators"]))
        self.assertRegex(self.bill["documentNamespace"], r"^https://[^#]+$")
        for package in self.bill["packages"]:
            self.has("package", package)
            self.assertRegex(package["SPDXID"], r"^SPDXRef-[A-Za-z0-9.-]+$")
            for reference in package["externalRefs"]:
                self.has("external reference", reference)
            for checksum in package.get("checksums", []):
                self.has("checksum", checksum)
        for relation in self.bill["relationships"]:
            self.has("relationship", relation)
        for one in self.bill["hasExtractedLicensingInfos"]:
            self.has("license", one)

    def test_the_bills_references_lead_to_what_there_is(self):
        self.assertEqual(len(self.packages), len(self.bill["packages"]))
        ends = {r[key] for r in self.bill["relationships"] for key in ("spdxElementId", "relatedSpdxElement")}
        self.assertEqual(ends, {*self.packages, "SPDXRef-DOCUMENT"})
        described = {self.packages[r["relatedSpdxElement"]]["name"] for r in self.bill["relationships"] if r["relationshipType"] == "DESCRIBES"}
        self.assertEqual(described, {*PROGRAMS, "libdrdotnet.so"})
        static = {self.packages[r["relatedSpdxElement"]]["name"] for r in self.bill["relationships"] if r["relationshipType"] == "STATIC_LINK"}
        self.assertEqual(static, {"uthash-dev"})

    def test_the_bills_licenses_are_known_or_explained(self):
        explained = {one["licenseId"] for one in self.bill["hasExtractedLicensingInfos"]}
        named = {n for p in self.packages.values() for n in re.split(r" AND ", p["licenseDeclared"])} - {"NOASSERTION"}
        self.assertEqual({n for n in named if n.startswith("LicenseRef-")}, explained)
        if os.path.exists(LICENSES):
            self.assertLessEqual(named - explained, set(json.loads(read(LICENSES))["enum"]))

    def test_the_bill_is_about_the_programs_that_are_delivered(self):
        top = os.path.join(self.unpacked(self.programs + ".tar.gz"), self.programs)
        sums = {p["name"]: p["checksums"][0]["checksumValue"] for p in self.packages.values() if "checksums" in p}
        paths = {**{n: "bin/" + n for n in PROGRAMS}, "libdrdotnet.so": "lib/drdotnet/libdrdotnet.so"}
        self.assertEqual({name: sha256(read(top, path)) for name, path in paths.items()}, sums)
        for package in self.packages.values():
            if package["supplier"] == "Organization: Debian":
                done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}\n", package["name"]], capture_output=True, text=True)
                self.assertIn(package["versionInfo"], done.stdout.split(), package["name"])


if __name__ == "__main__":
    unittest.main()

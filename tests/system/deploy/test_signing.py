"""What a release is signed with (deploy/sign.py), read by programs that are not ours: openssl, minisign, Sigstore's own library for
JavaScript; and the images as they come into a registry (deploy/publish.sh)."""
import base64
import fnmatch
import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import yaml

from tests.lib import proc

sys.path.insert(0, os.path.join(proc.ROOT, "deploy"))
import release  # noqa: E402
import sign  # noqa: E402

SIGSTORE = os.path.join(proc.ROOT, "build/tools/sigstore/node_modules")
VERIFY = """
const { bundleFromJSON } = require('@sigstore/bundle'), { Verifier, toTrustMaterial, toSignedEntity } = require('@sigstore/verify');
const [pub, bundle, file] = process.argv.slice(1), fs = require('fs'), crypto = require('crypto');
const der = crypto.createPublicKey(fs.readFileSync(pub)).export({ type: 'spki', format: 'der' });
const trusted = { [crypto.createHash('sha256').update(der).digest('base64')]: { rawBytes: der } };
const root = { certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [] };
new Verifier(toTrustMaterial(root, trusted), { tlogThreshold: 0, ctlogThreshold: 0 })
  .verify(toSignedEntity(bundleFromJSON(JSON.parse(fs.readFileSync(bundle))), file && fs.readFileSync(file)));
"""
PASSWORD = "correct horse"


def run(*words, **how):
    return subprocess.run(words, capture_output=True, text=True, **how)


def missing(*programs):
    return " and ".join(p for p in programs if not shutil.which(p)) or None


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


def read(path):
    with open(path, "rb") as f:
        return f.read()


class Signing(unittest.TestCase):
    one_process = True

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="drdotnet-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.private, cls.public = cls.made_key("key")
        cls.other = cls.made_key("other")[1]
        cls.env = {"SIGN_KEY": cls.private, "SIGN_PASSWORD": PASSWORD}
        cls.key = sign.Signer(cls.env).key

    @classmethod
    def made_key(cls, name):
        private, public = os.path.join(cls.folder, name + ".pem"), os.path.join(cls.folder, name + ".pub")
        subprocess.run(["openssl", "genpkey", "-aes256", "-pass", "pass:" + PASSWORD, "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256",
                        "-out", private], check=True, capture_output=True)
        subprocess.run(["openssl", "pkey", "-in", private, "-passin", "pass:" + PASSWORD, "-pubout", "-out", public], check=True)
        return private, public

    def verified(self, public, signature, data):
        """By openssl: a base64 signature over data."""
        write(self.folder + "/signature", base64.b64decode(signature))
        return run("openssl", "dgst", "-sha256", "-verify", public, "-signature", self.folder + "/signature", input=data.decode()).returncode == 0

    def signed(self, env):
        folder = tempfile.mkdtemp(dir=self.folder)
        for name in ("chart.tgz", "SHA256SUMS", "it.provenance.json"):
            write(os.path.join(folder, name), name.encode() + b"'s contents\n")
        sign.Signer(env).files(folder, ["chart.tgz", "SHA256SUMS"], "it.provenance.json")
        return folder

    def test_files_are_signed_as_openssl_reads_it(self):
        folder = self.signed(self.env)
        self.assertEqual(sorted(os.listdir(folder)), ["SHA256SUMS", "SHA256SUMS.sig", "SHA256SUMS.sigstore.json", "chart.tgz", "chart.tgz.sig",
                                                      "chart.tgz.sigstore.json", "it.provenance.json", "it.provenance.sigstore.json"])
        for name in ("SHA256SUMS", "chart.tgz"):
            data, signature = read(os.path.join(folder, name)), read(os.path.join(folder, name + ".sig"))
            self.assertTrue(self.verified(self.public, signature, data))
            self.assertFalse(self.verified(self.other, signature, data))
            self.assertFalse(self.verified(self.public, signature, data + b"more"))

    @unittest.skipIf(missing("node") or not os.path.isdir(SIGSTORE), "no @sigstore/verify: tests/setup/from_npm.sh")
    def test_bundles_are_sigstores(self):
        folder = self.signed(self.env)

        def accepted(public, *names):
            done = run("node", "-e", VERIFY, public, *(os.path.join(folder, n) for n in names), env={**os.environ, "NODE_PATH": SIGSTORE})
            self.assertTrue(done.returncode == 0 or "VerificationError" in done.stderr, done.stderr)
            return done.returncode == 0
        for names in (("SHA256SUMS.sigstore.json", "SHA256SUMS"), ("chart.tgz.sigstore.json", "chart.tgz"), ("it.provenance.sigstore.json",)):
            self.assertTrue(accepted(self.public, *names), names)
            self.assertFalse(accepted(self.other, *names), names)
        self.assertFalse(accepted(self.public, "SHA256SUMS.sigstore.json", "chart.tgz"))
        path = os.path.join(folder, "it.provenance.sigstore.json")
        bundle = json.loads(read(path))
        self.assertEqual(base64.b64decode(bundle["dsseEnvelope"]["payload"]), read(os.path.join(folder, "it.provenance.json")))
        bundle["dsseEnvelope"]["payload"] = base64.b64encode(b"another").decode()
        write(path, json.dumps(bundle).encode())
        self.assertFalse(accepted(self.public, "it.provenance.sigstore.json"))

    @unittest.skipIf(missing("minisign"), "no minisign")
    def test_minisign_signs_the_checksums(self):
        secret, public = self.folder + "/mini.key", self.folder + "/mini.pub"
        subprocess.run(["minisign", "-G", "-p", public, "-s", secret], input="pw\npw\n", text=True, check=True, capture_output=True)
        folder = self.signed({"MINISIGN_KEY": secret, "MINISIGN_PASSWORD": "pw"})
        self.assertEqual([n for n in os.listdir(folder) if n.endswith(("sig", "sigstore.json"))], ["SHA256SUMS.minisig"])
        self.assertEqual(run("minisign", "-V", "-p", public, "-m", folder + "/SHA256SUMS").returncode, 0)
        write(folder + "/SHA256SUMS", b"another\n")
        self.assertNotEqual(run("minisign", "-V", "-p", public, "-m", folder + "/SHA256SUMS").returncode, 0)
        with self.assertRaisesRegex(sign.CannotSign, "MINISIGN_KEY: minisign cannot use"):
            self.signed({"MINISIGN_KEY": secret, "MINISIGN_PASSWORD": "wrong"})

    def test_keys_that_do_not_serve_are_refused_with_the_remedy(self):
        rows = [("no such file", None, "", "cannot read"), ("wrong", read(self.private), "wrong", "a wrong SIGN_PASSWORD?"),
                ("cosign", b"-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\n", "", "openssl genpkey -aes256"),
                ("rubbish", b"no key", "", "openssl cannot use")]
        curve = subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"], capture_output=True, check=True).stdout
        for name, data, password, said in [*rows, ("curve", curve, "", "no ECDSA key on the curve P-256")]:
            path = os.path.join(self.folder, name)
            if data is not None:
                write(path, data)
            with self.assertRaisesRegex(sign.CannotSign, "SIGN_KEY: .*" + said.replace("?", r"\?")):
                sign.Signer({"SIGN_KEY": path, "SIGN_PASSWORD": password})

    def fake_cosign(self):
        """A cosign that notes how it was called. What it is asked is held here; what the real one does with it was not tried."""
        folder = tempfile.mkdtemp(dir=self.folder)
        write(folder + "/cosign", b'#!/bin/sh\necho "$*" >> "%s/calls"\n' % folder.encode())
        os.chmod(folder + "/cosign", 0o755)
        return folder

    def test_keyless_needs_cosign_and_an_identity(self):
        with self.assertRaisesRegex(sign.CannotSign, "there is no cosign"):
            sign.Signer({"SIGN_KEYLESS": "1", "PATH": "/nonexistent"})
        folder = self.fake_cosign()
        env = {"SIGN_KEYLESS": "1", "PATH": folder + ":" + os.environ["PATH"]}
        with self.assertRaisesRegex(sign.CannotSign, "gives this job no identity"):
            sign.Signer(env)
        with self.assertRaisesRegex(sign.CannotSign, "take one of the two"):
            sign.Signer({**env, **self.env})
        with mock.patch.dict(os.environ, {"PATH": env["PATH"]}):
            made = self.signed({**env, "SIGSTORE_ID_TOKEN": "token"})
        files = [made + "/" + name for name in ("chart.tgz", "SHA256SUMS", "it.provenance.json")]
        self.assertEqual(read(folder + "/calls").decode().splitlines(), ["sign-blob --yes --bundle %s.sigstore.json %s" % (n, n) for n in files])

    def test_without_keys_nothing_is_signed_and_it_says_so(self):
        self.assertEqual(len(os.listdir(self.signed({}))), 3)
        self.assertIn("nothing is signed", sign.Signer({}).told())

    # images -------------------------------------------------------------------------------------------------------------

    def small_release(self, key):
        """The images of a release, of a root file system with one file."""
        folder = tempfile.mkdtemp(dir=self.folder)

        def rootfs(root, role, build):
            os.makedirs(root)
            write(root + "/" + role, build.encode())
            return root
        with mock.patch.object(release, "rootfs", rootfs), mock.patch.object(release, "REGISTRY", "registry.example.com/tools"):
            pins = release.images(folder, "0.1.0", {"amd64": "one build", "arm64": "another"}, key)
        return folder, pins

    def unpacked(self, path):
        folder = tempfile.mkdtemp(dir=self.folder)
        subprocess.run(["tar", "-xf", path, "-C", folder], check=True)
        return json.loads(read(folder + "/index.json"))["manifests"], lambda d: read(folder + "/blobs/sha256/" + d["digest"][7:])

    def test_images_are_signed_as_cosign_stores_it(self):
        folder, pins = self.small_release(self.key)
        listed = [line.split() for line in read(folder + "/drdotnet-0.1.0.images").decode().splitlines()]
        self.assertEqual([(name, arch) for name, arch, _ in listed], [("drdotnet-" + r, a) for r in release.IMAGES for a in ("all", "amd64", "arm64")])
        self.assertEqual({name: digest for name, arch, digest in listed if arch == "all"}, pins)
        (index,), blob = self.unpacked(folder + "/drdotnet-agent-0.1.0.oci.tar")
        self.assertEqual(index["digest"], pins["drdotnet-agent"])
        self.assertEqual(["sha256:" + hashlib.sha256(blob(m)).hexdigest() for m in json.loads(blob(index))["manifests"]], [d for _, _, d in listed[1:3]])
        manifests, blob = self.unpacked(folder + "/drdotnet-agent-0.1.0.sig.oci.tar")
        self.assertEqual([m["annotations"]["org.opencontainers.image.ref.name"] for m in manifests], [d.replace(":", "-") + ".sig" for _, _, d in listed[:3]])
        for descriptor, (_, _, digest) in zip(manifests, listed):
            (layer,) = json.loads(blob(descriptor))["layers"]
            self.assertEqual(layer["mediaType"], "application/vnd.dev.cosign.simplesigning.v1+json")
            payload, signature = blob(layer), layer["annotations"]["dev.cosignproject.cosign/signature"]
            self.assertEqual(json.loads(payload)["critical"], {"identity": {"docker-reference": "registry.example.com/tools/drdotnet-agent"},
                                                               "image": {"docker-manifest-digest": digest}, "type": "cosign container image signature"})
            self.assertTrue(self.verified(self.public, signature, payload))
            self.assertFalse(self.verified(self.other, signature, payload))

    def registry(self):
        """The address of a registry on this machine."""
        folder = tempfile.mkdtemp(dir=self.folder)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            place = free.getsockname()
        address = "%s:%d" % place
        config = {"version": "0.1", "storage": {"filesystem": {"rootdirectory": folder}}, "http": {"addr": address}}
        write(folder + "/config.yml", json.dumps(config).encode())
        server = subprocess.Popen(["docker-registry", "serve", folder + "/config.yml"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: (server.kill(), server.wait()))

        def listens():
            with socket.socket() as one:
                return one.connect_ex(place) == 0
        proc.wait_until(listens, 30, "the registry")
        return address

    @unittest.skipIf(missing("skopeo", "docker-registry"), "no skopeo or docker-registry")
    def test_a_registry_has_the_digests_that_the_release_names(self):
        folder, pins = self.small_release(self.key)
        to = self.registry() + "/tools"
        done = run(proc.ROOT + "/deploy/publish.sh", folder, to, "--dest-tls-verify=false")
        self.assertEqual(done.returncode, 0, done.stderr)
        for name, digest in pins.items():
            raw = run("skopeo", "inspect", "--raw", "--tls-verify=false", "docker://%s/%s:0.1.0" % (to, name)).stdout
            self.assertEqual("sha256:" + hashlib.sha256(raw.encode()).hexdigest(), digest)
            found = run("skopeo", "inspect", "--raw", "--tls-verify=false", "docker://%s/%s:%s" % (to, name, sign.signature_tag(digest)))
            self.assertIn("dev.cosignproject.cosign/signature", found.stdout, found.stderr)
            self.assertIn("%s/%s@%s all\n" % (to, name, digest), done.stdout)

    @unittest.skipIf(missing("skopeo", "docker-registry"), "no skopeo or docker-registry")
    def test_keyless_images_are_signed_where_they_are_pushed(self):
        folder, pins = self.small_release(None)
        to, cosign = self.registry() + "/tools", self.fake_cosign()
        done = run(proc.ROOT + "/deploy/publish.sh", folder, to, "--dest-tls-verify=false",
                   env={**os.environ, "SIGN_KEYLESS": "1", "PATH": cosign + ":" + os.environ["PATH"]})
        self.assertEqual(done.returncode, 0, done.stderr)
        calls = read(cosign + "/calls").decode().splitlines()
        self.assertEqual((len(calls), calls[0]), (9, "sign --yes %s/drdotnet-agent@%s" % (to, pins["drdotnet-agent"])))

    def test_the_sample_policy_asks_for_what_a_release_has(self):
        """Its form alone: no Kyverno was to be had."""
        with open(proc.ROOT + "/deploy/policy/kyverno.yaml", encoding="utf-8") as f:
            policy = yaml.safe_load(f)
        first, signed = policy["spec"]["rules"]
        allowed, verify = first["validate"]["pattern"]["spec"]["containers"][0]["image"], signed["verifyImages"][0]
        with mock.patch.object(release, "REGISTRY", "registry.example.com/tools"):
            for role in release.IMAGES:
                for pattern in (allowed, *verify["imageReferences"]):
                    self.assertTrue(fnmatch.fnmatch(release.in_registry("drdotnet-" + role) + "@sha256:0", pattern))
        self.assertTrue(verify["required"] and verify["verifyDigest"])
        self.assertEqual(verify["attestors"][0]["entries"][0]["keys"]["rekor"], {"ignoreTlog": True})

    # digests ------------------------------------------------------------------------------------------------------------

    def test_with_a_registry_chart_and_manifests_name_digests(self):
        pins = {"drdotnet-" + role: "sha256:" + role for role in release.IMAGES}
        manifests = [release.read(p) for p in ("deploy/manifests/30-controller.yaml", "deploy/manifests/40-agent.yaml",
                                               "deploy/manifests-shared-tmp/40-agent-shared-tmp.yaml")]
        values, version = release.read("helm/drdotnet/values.yaml"), release.read("VERSION").strip()
        self.assertEqual([release.pinned(t, version, pins) for t in manifests], manifests)
        self.assertEqual(release.pinned_values(values, pins), values)
        with mock.patch.object(release, "REGISTRY", "registry.example.com/tools"):
            for text, name in zip(manifests, ("controller", "agent", "agent")):
                self.assertIn("image: registry.example.com/tools/drdotnet-%s@sha256:%s\n" % (name, name), release.pinned(text, version, pins))
                self.assertNotIn("image: drdotnet-", release.pinned(text, version, pins))
            for line in ('registry: "registry.example.com/tools"', 'controllerDigest: "sha256:controller"', 'agentDigest: "sha256:agent"'):
                self.assertIn("\n  " + line, release.pinned_values(values, pins))

    def test_the_provenance_says_which_files_of_which_commit(self):
        made = release.provenance({"b": "2", "a": "1"}, "0.1.0", {"arm64": "x", "amd64": "y"}, {"REVISION": "abc", "CI_PROJECT_URL": "https://forge/p"})
        self.assertEqual((made["_type"], made["predicateType"]), ("https://in-toto.io/Statement/v1", "https://slsa.dev/provenance/v1"))
        self.assertEqual(made["subject"], [{"name": "a", "digest": {"sha256": "1"}}, {"name": "b", "digest": {"sha256": "2"}}])
        definition = made["predicate"]["buildDefinition"]
        self.assertEqual(definition["resolvedDependencies"][0]["digest"], {"gitCommit": "abc"})
        self.assertEqual(definition["externalParameters"], {"version": "0.1.0", "architectures": ["amd64", "arm64"], "registry": ""})
        self.assertEqual(made["predicate"]["runDetails"]["builder"]["id"], "https://forge/p/-/runners/0")


if __name__ == "__main__":
    unittest.main()

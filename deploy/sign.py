"""Signs the files of a release (release.py), with what the job that makes it is given in its environment:

SIGN_KEY       a private key in PEM, ECDSA P-256 (`openssl genpkey`; cosign reads its public half). SIGN_PASSWORD: its passphrase
MINISIGN_KEY   a secret key of minisign, for SHA256SUMS. MINISIGN_PASSWORD: its passphrase
SIGN_KEYLESS   1: files by `cosign`, with the identity that the forge gives the job. Images are signed where they are pushed (publish.sh)

With SIGN_KEY each file that is signed gets FILE.sig (base64, what `cosign verify-blob --signature` and openssl read) and FILE.sigstore.json (a
Sigstore bundle, version 0.3, without an entry of a transparency log), the provenance a bundle with the signed statement, and each image
signatures as cosign stores them in a registry, in an OCI archive of their own.
"""
import base64
import hashlib
import json
import os
import shutil
import subprocess

BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json"
STATEMENT = "application/vnd.in-toto+json"
# what the forges give a job that may ask for an identity: sigstore's own name (GitLab's id_tokens), GitHub's
IDENTITY = ("SIGSTORE_ID_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN")


class CannotSign(Exception):
    """Says which variable, and the remedy."""


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def base64_of(data):
    return base64.b64encode(data).decode()


def run(words, data=b"", **more):
    return subprocess.run(words, input=data, capture_output=True, check=False, env={**os.environ, **more})


class Key:
    """An ECDSA P-256 key, used by openssl: the key itself never comes into this process."""

    def __init__(self, path, password):
        self.words = ["-passin", "env:SIGN_PASSWORD"] if password else ["-passin", "pass:"]
        self.path, self.env = path, {"SIGN_PASSWORD": password}
        try:
            with open(path, encoding="utf-8", errors="replace") as f:
                first = f.readline()
        except OSError as error:
            raise CannotSign("SIGN_KEY: cannot read %s: %s" % (path, error.strerror)) from error
        if "SIGSTORE" in first or "COSIGN" in first:
            raise CannotSign("SIGN_KEY: %s is encrypted as only cosign reads it. Take a key in PEM: openssl genpkey -aes256 -algorithm EC "
                             "-pkeyopt ec_paramgen_curve:P-256 -out FILE" % path)
        self.public = self.openssl("pkey", "-in", path, *self.words, "-pubout", "-outform", "DER")
        if b"P-256" not in self.openssl("pkey", "-pubin", "-inform", "DER", "-noout", "-text", data=self.public):
            raise CannotSign("SIGN_KEY: %s is no ECDSA key on the curve P-256, which cosign's formats need" % path)

    def openssl(self, *words, data=b""):
        done = run(["openssl", *words], data, **self.env)
        if done.returncode:
            raise CannotSign("SIGN_KEY: openssl cannot use %s (a wrong SIGN_PASSWORD?): %s" % (self.path, done.stderr.decode().strip()[-300:]))
        return done.stdout

    def sign(self, data):
        """DER, over the SHA-256 of the data."""
        return self.openssl("dgst", "-sha256", "-sign", self.path, *self.words, data=data)

    def bundle(self, content):
        """A Sigstore bundle; the hint names the key as cosign does: by the SHA-256 of its public half."""
        hint = base64_of(hashlib.sha256(self.public).digest())
        return canonical({"mediaType": BUNDLE, "verificationMaterial": {"publicKey": {"hint": hint}, "tlogEntries": []}, **content}) + b"\n"

    def blob(self, data):
        """What stands beside a file that is signed: {ending: bytes}."""
        signature = base64_of(self.sign(data))
        digest = {"algorithm": "SHA2_256", "digest": base64_of(hashlib.sha256(data).digest())}
        return {".sig": (signature + "\n").encode(), ".sigstore.json": self.bundle({"messageSignature": {"messageDigest": digest, "signature": signature}})}

    def statement(self, data):
        """A bundle with an in-toto statement as a DSSE envelope, version 1: what is signed names its type and lengths."""
        signed = b"DSSEv1 %d %s %d %s" % (len(STATEMENT), STATEMENT.encode(), len(data), data)
        return self.bundle({"dsseEnvelope": {"payload": base64_of(data), "payloadType": STATEMENT, "signatures": [{"sig": base64_of(self.sign(signed))}]}})

    def image(self, name, digest):
        """The payload that cosign signs for an image, and its signature."""
        payload = canonical({"critical": {"identity": {"docker-reference": name}, "image": {"docker-manifest-digest": digest},
                                          "type": "cosign container image signature"}, "optional": None})
        return payload, base64_of(self.sign(payload))


def signature_tag(digest):
    """Where cosign looks for the signatures of an image of that digest."""
    return digest.replace(":", "-") + ".sig"


def minisign(path, password, folder, name):
    if not shutil.which("minisign"):
        raise CannotSign("MINISIGN_KEY is given, and there is no minisign: install it")
    done = run(["minisign", "-S", "-s", path, "-m", os.path.join(folder, name), "-t", "the checksums of a release of Dr-Dotnet"], (password + "\n").encode())
    if done.returncode:
        raise CannotSign("MINISIGN_KEY: minisign cannot use %s: %s" % (path, (done.stderr + done.stdout).decode().strip()[-300:]))


def keyless(folder, name):
    done = run(["cosign", "sign-blob", "--yes", "--bundle", os.path.join(folder, name + ".sigstore.json"), os.path.join(folder, name)])
    if done.returncode:
        raise CannotSign("SIGN_KEYLESS: cosign did not sign %s: %s" % (name, done.stderr.decode().strip()[-300:]))


class Signer:
    """What the environment asks for; made before anything else is, so that a job that cannot sign fails at once."""

    def __init__(self, env=None):
        env = os.environ if env is None else env
        self.keyless, self.minisign = env.get("SIGN_KEYLESS", "") not in ("", "0"), (env.get("MINISIGN_KEY"), env.get("MINISIGN_PASSWORD", ""))
        self.key = Key(env["SIGN_KEY"], env.get("SIGN_PASSWORD", "")) if env.get("SIGN_KEY") else None
        if self.keyless and self.key:
            raise CannotSign("SIGN_KEYLESS and SIGN_KEY are given: take one of the two")
        if self.keyless and not shutil.which("cosign", path=env.get("PATH")):
            raise CannotSign("SIGN_KEYLESS is given, and there is no cosign: install it, or sign with SIGN_KEY")
        if self.keyless and not any(env.get(name) for name in IDENTITY):
            raise CannotSign("SIGN_KEYLESS is given, and the forge gives this job no identity (%s): let the job have it (GitHub: permissions: id-token: "
                             "write; GitLab: id_tokens), or sign with SIGN_KEY" % ", ".join(IDENTITY))

    def files(self, folder, names, provenance):
        """Signs `names`, SHA256SUMS the last, and the file `provenance`, all in the folder."""
        for name in names:
            if self.key:
                with open(os.path.join(folder, name), "rb") as f:
                    beside = self.key.blob(f.read())
                for ending, data in beside.items():
                    with open(os.path.join(folder, name + ending), "wb") as f:
                        f.write(data)
            elif self.keyless:
                keyless(folder, name)
        if self.key:
            with open(os.path.join(folder, provenance), "rb") as f:
                data = self.key.statement(f.read())
            with open(os.path.join(folder, provenance.removesuffix(".json") + ".sigstore.json"), "wb") as f:
                f.write(data)
        elif self.keyless:
            keyless(folder, provenance)
        if self.minisign[0]:
            minisign(*self.minisign, folder, names[-1])

    def told(self):
        """One line about what is signed."""
        what = (["SHA256SUMS, the chart, the provenance and the images with SIGN_KEY"] if self.key else []) + \
            (["SHA256SUMS, the chart and the provenance by cosign; publish.sh signs the images"] if self.keyless else []) + \
            (["SHA256SUMS with MINISIGN_KEY"] if self.minisign[0] else [])
        return "signed: " + "; ".join(what) if what else "nothing is signed: no SIGN_KEY, MINISIGN_KEY or SIGN_KEYLESS is given (CONTRIBUTING.md)"

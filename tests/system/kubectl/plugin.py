"""`kubectl drdotnet` as a person runs it: through the real kubectl, with a person's own account. kubectl's port-forward needs a kubelet, which
there is none of: a kubectl before the real one on the PATH says that it forwards to where the controller listens; all else is the real one's."""
import json
import os
import shutil
import stat
import subprocess

from tests.lib import proc

BIN = os.path.join(proc.ROOT, "build/release")
FORWARD = """#!/bin/sh
for word; do
	if [ "$word" = port-forward ]; then
		echo "Forwarding from 127.0.0.1:%d -> 8444"
		exec sleep 600
	fi
done
exec "%s" "$@"
"""


class Person:
    """Somebody with a kubeconfig of their own. `account`: (namespace, name) of the service account that stands for them; `role`: what it may do
    in the namespace, "" for nothing; None: the administrator's certificate, which is no token."""

    def __init__(self, folder, cluster, account=None, role="drdotnet-edit", api_port=0):
        os.makedirs(folder + "/bin", exist_ok=True)
        self.folder, self.cluster = folder, cluster
        self.kubeconfig = self._kubeconfig(account, role) if account else cluster.kubeconfig
        path = folder + "/bin/kubectl"
        with open(path, "w") as f:
            f.write(FORWARD % (api_port, shutil.which("kubectl")))
        os.chmod(path, stat.S_IRWXU)
        self.env = {"PATH": "%s/bin:%s:%s" % (folder, BIN, os.environ["PATH"]), "KUBECONFIG": self.kubeconfig, "HOME": folder}

    def _kubeconfig(self, account, role):
        namespace, name = account
        self.cluster.request("POST", "/api/v1/namespaces/%s/serviceaccounts" % namespace, {"metadata": {"name": name}})
        if role:  # nobody aggregates roles here: what edit has of it, and what else of edit the plugin needs
            self.cluster.request("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/%s/roles" % namespace, {
                "metadata": {"name": name}, "rules": [{"apiGroups": ["", "apps", "batch"], "verbs": ["get", "list"], "resources": [
                    "pods", "services", "deployments", "statefulsets", "daemonsets", "replicasets", "jobs"]}]})
            for kind, role_name in (("role", name), ("clusterrole", role)):
                self.cluster.kubectl("create", "rolebinding", "%s-%s" % (name, kind), "--" + kind, role_name, "-n", namespace,
                                     "--serviceaccount", "%s:%s" % account)
        self.token_file = self.folder + "/token"
        with open(self.token_file, "w") as f:
            f.write(self.cluster.service_account_token(namespace, name))
        return self.cluster.write_kubeconfig(self.folder + "/config", self.token_file)

    def run(self, *words, seconds=120, env=None):
        """(exit code, standard output, standard error)"""
        done = subprocess.run(["kubectl", "drdotnet", *map(str, words)], capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL,
                              env={**os.environ, **self.env, **(env or {})}, cwd=self.folder)
        return done.returncode, done.stdout, done.stderr

    def start(self, *words):
        """A process whose log has both outputs. kubectl becomes the plugin, so its pid is the plugin's."""
        return proc.Process(["kubectl", "drdotnet", *words], log=os.path.join(self.folder, "plugin-%d.log" % len(os.listdir(self.folder))),
                            env=self.env, cwd=self.folder)

    def json(self, *words):
        code, text, errors = self.run(*words)
        if not text:
            raise AssertionError("%s: %d %s" % (words, code, errors))
        return code, json.loads(text)

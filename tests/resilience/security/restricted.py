"""The Pod Security Standards' profile "restricted" (https://kubernetes.io/docs/concepts/security/pod-security-standards/), control by
control: what a pod violates. For clusters whose own admission is not to be had in a test."""

VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}
SECCOMP = {"RuntimeDefault", "Localhost"}
SELINUX_TYPES = {"", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"}
SYSCTLS = {"kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_unprivileged_port_start", "net.ipv4.tcp_syncookies",
           "net.ipv4.ping_group_range", "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout",
           "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}


def _each(spec):
    """(container, its securityContext) of all kinds of containers."""
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(kind) or []:
            yield container, container.get("securityContext") or {}


def _set(spec, name):
    """The value of a field that a container takes from the pod where it says nothing, for each container."""
    inherited = (spec.get("securityContext") or {}).get(name)
    return [own.get(name, inherited) for _, own in _each(spec)]


def _host_namespaces(spec):
    return any(spec.get(n) for n in ("hostPID", "hostIPC", "hostNetwork"))


def _app_armor(spec):
    return any((p or {}).get("type", "RuntimeDefault") not in SECCOMP for p in _set(spec, "appArmorProfile"))


def _selinux(spec):
    options = [o or {} for o in _set(spec, "seLinuxOptions")]
    return any(o.get("type", "") not in SELINUX_TYPES or o.get("user") or o.get("role") for o in options)


def _volume_types(spec):
    return {kind for volume in spec.get("volumes") or [] for kind in volume if kind != "name"} - VOLUMES


CONTROLS = {
    "HostProcess": lambda s: any((o or {}).get("hostProcess") for o in _set(s, "windowsOptions")),
    "Host Namespaces": _host_namespaces,
    "Privileged Containers": lambda s: any(own.get("privileged") for _, own in _each(s)),
    "Capabilities": lambda s: any("ALL" not in (own.get("capabilities") or {}).get("drop", []) or
                                  set((own.get("capabilities") or {}).get("add") or []) - {"NET_BIND_SERVICE"} for _, own in _each(s)),
    "Host Ports": lambda s: any(p.get("hostPort") for c, _ in _each(s) for p in c.get("ports") or []),
    "AppArmor": _app_armor,
    "SELinux": _selinux,
    "/proc Mount Type": lambda s: any(own.get("procMount", "Default") != "Default" for _, own in _each(s)),
    "Seccomp": lambda s: any((p or {}).get("type") not in SECCOMP for p in _set(s, "seccompProfile")),
    "Sysctls": lambda s: {x["name"] for x in (s.get("securityContext") or {}).get("sysctls") or []} - SYSCTLS,
    "Volume Types": _volume_types,
    "Privilege Escalation": lambda s: any(own.get("allowPrivilegeEscalation") is not False for _, own in _each(s)),
    "Running as Non-root": lambda s: any(v is not True for v in _set(s, "runAsNonRoot")),
    "Running as Non-root user": lambda s: any(v == 0 for v in _set(s, "runAsUser")) or (s.get("securityContext") or {}).get("runAsUser") == 0,
}


def violations(spec):
    """The controls that a pod's spec violates."""
    return {name for name, violated in CONTROLS.items() if violated(spec)}

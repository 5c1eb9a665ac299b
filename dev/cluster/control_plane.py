"""The daemons of a one-node Kubernetes: for each its command line and its configuration, as data.

Everything listens on 127.0.0.1 or on the node's address, both inside of the cluster's own network
namespace. RBAC and TLS are real: each daemon and each person has a token of their own, the kubelet
takes only the API server's certificate.

What differs from a machine in production, and why:
    kubelet       failCgroupV1 off and cgroupfs: a machine may have cgroup v1 and no systemd. No eviction for want of disk: it is not ours.
    kube-proxy    masqueradeAll: pods, Services and this machine share a bridge, so an answer must come back through the node.
                  conntrack's limits stay as they are: those sysctls belong to the whole machine.
    etcd          no fsync: the cluster is never kept.
    endpoints     `kubernetes.default` is real; there is no DNS.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from dev.cluster.layout import (
    API_PORT,
    BRIDGE,
    CGROUP,
    FIRST_POD_ADDRESS,
    LAST_POD_ADDRESS,
    NODE_ADDRESS,
    NODE_NAME,
    POD_RANGE,
    SERVICE_RANGE,
)

CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
ETCD_URL = "http://127.0.0.1:2379"
AUDIT_LOG = "audit.log"
_AUDIT = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [
        {
            "level": "Metadata",
            "userGroups": ["system:serviceaccounts:barostat"],
        },
        {"level": "None"},
    ],
}
"""Every request of our own people, for tests that say what was read and written."""


@dataclass(frozen=True, slots=True)
class Daemon:
    """A process of the node: its name (also of its log) and its command line."""

    name: str
    command: tuple[str, ...]


def write_keys(etc: Path) -> None:
    """Under etc lie the key that signs service-account tokens, and the certificate by which the
    kubelet knows the API server.
    """
    curve = ["-pkeyopt", "ec_paramgen_curve:P-256"]
    _openssl("genpkey", "-algorithm", "EC", *curve, "-out", str(etc / "accounts.key"))
    _openssl("pkey", "-in", str(etc / "accounts.key"), "-pubout", "-out", str(etc / "accounts.pub"))
    files = ["-keyout", str(etc / "kubelet-client.key"), "-out", str(etc / "kubelet-client.crt")]
    usage = [
        "-days",
        "30",
        "-subj",
        "/O=system:masters/CN=kube-apiserver-kubelet-client",
        "-addext",
        "extendedKeyUsage=clientAuth",
    ]
    _openssl("req", "-x509", "-newkey", "ec", *curve, "-nodes", *files, *usage)


def write_configuration(etc: Path, cni_plugins: Path) -> None:
    """Under etc lies the configuration of containerd, CNI, kubelet and kube-proxy."""
    (etc / "cni").mkdir(exist_ok=True)
    (etc / "cni" / "10-bridge.conflist").write_text(json.dumps(_cni()))
    (etc / "containerd.toml").write_text(_containerd(etc, cni_plugins))
    (etc / "resolv.conf").write_text("options ndots:5\n")
    (etc / "kubelet.yaml").write_text(yaml.safe_dump(_kubelet(etc)))
    (etc / "kube-proxy.yaml").write_text(yaml.safe_dump(_kube_proxy(etc)))
    (etc / "audit-policy.yaml").write_text(yaml.safe_dump(_AUDIT))


def foundation(etc: Path) -> list[Daemon]:
    """The daemons that need no other: they start first and together."""
    etcd = (
        "etcd",
        "--data-dir=/var/lib/etcd",
        f"--listen-client-urls={ETCD_URL}",
        f"--advertise-client-urls={ETCD_URL}",
    )
    quiet = (
        "--listen-peer-urls=http://127.0.0.1:2380",
        "--unsafe-no-fsync",
        "--logger=zap",
        "--log-level=warn",
    )
    return [
        Daemon("etcd", (*etcd, *quiet)),
        Daemon("containerd", ("containerd", "--config", str(etc / "containerd.toml"))),
    ]


def api_server(etc: Path) -> Daemon:
    """The API server; it needs etcd."""
    flags = {
        "etcd-servers": ETCD_URL,
        "bind-address": NODE_ADDRESS,
        "advertise-address": NODE_ADDRESS,
        "secure-port": API_PORT,
        "cert-dir": etc / "api",
        "token-auth-file": etc / "tokens.csv",
        "authorization-mode": "Node,RBAC",
        "enable-admission-plugins": "NodeRestriction",
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": etc / "accounts.pub",
        "service-account-signing-key-file": etc / "accounts.key",
        "service-cluster-ip-range": SERVICE_RANGE,
        "audit-policy-file": etc / "audit-policy.yaml",
        "audit-log-path": etc / AUDIT_LOG,
        "kubelet-client-certificate": etc / "kubelet-client.crt",
        "kubelet-client-key": etc / "kubelet-client.key",
        "kubelet-preferred-address-types": "InternalIP",
        "allow-privileged": "true",
        "profiling": "false",
    }
    return Daemon(
        "kube-apiserver", ("kube-apiserver", *(f"--{key}={value}" for key, value in flags.items()))
    )


def the_rest(etc: Path) -> list[Daemon]:
    """The daemons that need the API server (and the kubelet containerd)."""
    controllers = {
        "kubeconfig": etc / "kube-controller-manager.kubeconfig",
        "leader-elect": "false",
        "bind-address": "127.0.0.1",
        "authentication-skip-lookup": "true",
        "service-account-private-key-file": etc / "accounts.key",
        "root-ca-file": etc / "api" / "apiserver.crt",
        "flex-volume-plugin-dir": "/var/lib/flexvolumes",
        "kube-api-qps": 200,
        "kube-api-burst": 400,
        "profiling": "false",
    }
    scheduler = {
        "kubeconfig": etc / "kube-scheduler.kubeconfig",
        "leader-elect": "false",
        "bind-address": "127.0.0.1",
        "authentication-skip-lookup": "true",
        "kube-api-qps": 200,
        "kube-api-burst": 400,
        "profiling": "false",
    }
    kubelet = {
        "config": etc / "kubelet.yaml",
        "kubeconfig": etc / "kubelet.kubeconfig",
        "hostname-override": NODE_NAME,
        "node-ip": NODE_ADDRESS,
    }
    return [
        Daemon(
            "kube-controller-manager",
            (
                "kube-controller-manager",
                *(f"--{key}={value}" for key, value in controllers.items()),
            ),
        ),
        Daemon(
            "kube-scheduler",
            ("kube-scheduler", *(f"--{key}={value}" for key, value in scheduler.items())),
        ),
        Daemon("kubelet", ("kubelet", *(f"--{key}={value}" for key, value in kubelet.items()))),
        Daemon("kube-proxy", ("kube-proxy", f"--config={etc / 'kube-proxy.yaml'}")),
    ]


def _cni() -> dict[str, Any]:
    addresses = {
        "subnet": POD_RANGE,
        "rangeStart": FIRST_POD_ADDRESS,
        "rangeEnd": LAST_POD_ADDRESS,
        "gateway": NODE_ADDRESS,
    }
    bridge = {
        "type": "bridge",
        "bridge": BRIDGE,
        "isGateway": True,
        "hairpinMode": True,
        "ipam": {"type": "host-local", "ranges": [[addresses]], "routes": [{"dst": "0.0.0.0/0"}]},
    }
    return {
        "cniVersion": "0.4.0",
        "name": "barostat",
        "plugins": [bridge, {"type": "portmap", "capabilities": {"portMappings": True}}],
    }


def _containerd(etc: Path, cni_plugins: Path) -> str:
    # restrict_oom_score_adj: without CAP_SYS_RESOURCE runc may not lower it, and dies with "can't
    # get final child's PID from pipe: EOF".
    return f"""\
version = 2
[plugins."io.containerd.internal.v1.opt"]
  path = "/var/lib/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "registry.k8s.io/pause:3.10"
  restrict_oom_score_adj = true
  disable_hugetlb_controller = true
  stream_server_address = "127.0.0.1"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{cni_plugins}"
    conf_dir = "{etc / "cni"}"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    base_runtime_spec = "{etc / "base-spec.json"}"
"""


def _kubelet(etc: Path) -> dict[str, Any]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": NODE_ADDRESS,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": False},
            "x509": {"clientCAFile": str(etc / "kubelet-client.crt")},
        },
        "authorization": {"mode": "AlwaysAllow"},
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{CGROUP}",
        "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
        "enforceNodeAllocatable": [],
        "evictionHard": {
            "memory.available": "100Mi",
            "nodefs.available": "0%",
            "imagefs.available": "0%",
            "nodefs.inodesFree": "0%",
        },
        "failCgroupV1": False,
        "failSwapOn": False,
        "imageGCHighThresholdPercent": 100,
        "maxPods": 250,
        "nodeStatusUpdateFrequency": "4s",
        "oomScoreAdj": 0,
        "resolvConf": str(etc / "resolv.conf"),
        "volumePluginDir": "/var/lib/flexvolumes",
    }


def _kube_proxy(etc: Path) -> dict[str, Any]:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "bindAddress": "127.0.0.1",
        "clientConnection": {"kubeconfig": str(etc / "kube-proxy.kubeconfig")},
        "clusterCIDR": POD_RANGE,
        "conntrack": {
            "maxPerCore": 0,
            "min": 0,
            "tcpEstablishedTimeout": "0s",
            "tcpCloseWaitTimeout": "0s",
        },
        "healthzBindAddress": "127.0.0.1:10256",
        "hostnameOverride": NODE_NAME,
        "iptables": {"masqueradeAll": True, "localhostNodePorts": False},
        "metricsBindAddress": "127.0.0.1:10249",
        "mode": "iptables",
        "oomScoreAdj": 0,
    }


def _openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)

"""Where the cluster's things are: versions, addresses and folders, each once.

    <cache>/cluster-<version>-<key>/     the binaries, built once (binaries.py)
    <cache>/cluster-run/                 the one running cluster; gone after `make cluster-down`
        pid                              of the `unshare` that holds its namespaces
        etc/                             certificates, tokens, configuration of every daemon
        kubeconfig/{admin,observer,operator}
        images/                          the OCI archives
        lib/ log/                        /var/lib and /var/log of the node
        daemons/*.log                    what each daemon printed

The addresses are of the benchmarking range, which is nobody's network, and live in a network
namespace:

    198.18.0.0/22    bridge of the node: .0.1 the node, .0.10 to .3.200 pods, .3.254 this machine's end of a veth pair
    198.19.0.0/24    Services, by kube-proxy on the node

So this machine reaches every pod and every Service, and nothing of the cluster listens outside of
its namespace.
"""

from __future__ import annotations

from pathlib import Path

from dev.setup_vllm import cache_dir

KUBERNETES_VERSION = "1.34.4"
NODE_NAME = "gpu-node-0"
GPUS = 3
API_PORT = 6443

BRIDGE = "cni0"
POD_RANGE = "198.18.0.0/22"
PREFIX_LENGTH = 22
NODE_ADDRESS = "198.18.0.1"
FIRST_POD_ADDRESS = "198.18.0.10"
LAST_POD_ADDRESS = "198.18.3.200"
HOST_ADDRESS = "198.18.3.254"
HOST_LINK = "barostat0"
SERVICE_RANGE = "198.19.0.0/24"

CGROUPS = Path("/sys/fs/cgroup")
CGROUP = "barostat"
ROOT = Path(__file__).resolve().parents[2]
RUN = cache_dir() / "cluster-run"
API_URL = f"https://{NODE_ADDRESS}:{API_PORT}"

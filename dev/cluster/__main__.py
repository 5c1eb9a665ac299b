"""`python -m dev.cluster up|down|status|build`: a real Kubernetes with GPUs to count, on this
machine, within seconds and without a trace.

    up       builds what is missing (minutes, once), starts the cluster, prints the admin's kubeconfig on stdout
    down     ends it: processes, mounts, network, cgroups, files
    status   says whether it runs, and its pods; status 0 if it does, 3 if not
    build    only builds what is missing: Kubernetes and the controllers of other projects

Needs root (namespaces, mounts), unshare, ip and openssl. With kind or k3d instead:
BAROSTAT_KUBECONFIG=FILE for the tests.
"""

from __future__ import annotations

import sys

from dev.cluster import binaries, controllers, lifetime
from dev.cluster.lifetime import say


def main(arguments: list[str]) -> int:
    """Do the one thing that is asked for."""
    match arguments:
        case ["up"]:
            print(lifetime.up().kubeconfig("admin"))
        case ["down"]:
            say("it is gone" if lifetime.down() else "there was none")
        case ["build"]:
            print(binaries.build())
            controllers.build()
        case ["status"]:
            if (cluster := lifetime.running()) is None:
                say("not running; `make cluster` starts it")
                return 3
            say(f"runs (KUBECONFIG={cluster.kubeconfig('admin')})")
            print(cluster.admin("get", "nodes,pods", "-A", "-o", "wide"), end="")
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

"""The service level that the cluster holds for the workload that is diagnosed: `mitigate` ranks the
same steps by it.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from barostat.core.limits import ServiceLevel

if TYPE_CHECKING:
    from barostat.core.limits import ServingLimits


def service_level_of(arguments: argparse.Namespace) -> ServiceLevel:
    """Return the service level of the one workload that is named; none where it is no workload, the
    cluster holds no limits for it, or they cannot be read.
    """
    from barostat.io.kubernetes.recording.target import is_workload

    targets: list[str] = arguments.target or []
    if len(targets) != 1 or not is_workload(targets[0]):
        return ServiceLevel()
    found = _limits(arguments, targets[0].partition("/")[2])
    return found.spec.slo if found is not None else ServiceLevel()


def _limits(arguments: argparse.Namespace, name: str) -> ServingLimits | None:
    import asyncio

    from barostat.core.errors import InputError, OutsideError
    from barostat.io.kubernetes.client.cluster import Cluster
    from barostat.io.kubernetes.client.kubeconfig import find_access
    from barostat.io.mitigation.limits_held import limits_in_cluster
    from barostat.io.mitigation.target_reader import ActTiming

    async def read() -> ServingLimits | None:
        access = find_access(arguments.kubeconfig, arguments.context)
        cluster = Cluster(access)
        namespace = arguments.namespace or access.namespace
        try:
            return await limits_in_cluster(cluster, namespace, name, ActTiming(patience_s=0.0))
        except (InputError, OutsideError):
            return None
        finally:
            await cluster.close()

    return asyncio.run(read())

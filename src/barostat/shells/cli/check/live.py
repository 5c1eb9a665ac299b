"""`barostat check --live TARGET`: the engines that run, read only: what they resolved, and the
workloads that declare them.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from barostat.core.config import EngineConfig
from barostat.core.errors import InputError
from barostat.core.version import EngineVersion
from barostat.io.manifests.live_objects import workload_documents
from barostat.judge.evidence.assemble import windows
from barostat.judge.evidence.recording import Recording
from barostat.lint.document import Document
from barostat.shells.cli.cluster_flags import wanted


@dataclass(frozen=True, slots=True)
class Live:
    """`running`: by replica, its settings and version. `documents`: the workloads as the cluster
    has them, of a target in a cluster.
    """

    running: tuple[tuple[str, EngineConfig, EngineVersion | None], ...]
    documents: tuple[Document, ...]


def live(arguments: argparse.Namespace) -> Live:
    """Read the running engine of the target: a URL, a workload, or a recorded bundle.

    Errors: InputError if there is no engine in it; OutsideError if it does not respond.
    """
    recording = recording_of(arguments, arguments.live)
    running = []
    for replica in recording.replicas:
        found, _ = windows(recording, replica)
        for name, window in found.items():
            shown = f"{replica.name}, engine {name}" if len(found) > 1 else replica.name
            if window.config.values:
                running.append((shown, window.config, window.version))
    if not running:
        raise InputError("tells nothing of an engine's configuration", f"--live {arguments.live}")
    return Live(tuple(running), tuple(workload_documents(recording.kubernetes).values()))


def recording_of(arguments: argparse.Namespace, target: str) -> Recording:
    """Record one sample of the target: a URL, a workload (by the flags), or a recorded bundle.

    Errors: InputError for a missing target; OutsideError if it does not respond.
    """
    cluster = wanted(arguments, [target])
    if cluster is not None:
        from barostat.io.kubernetes.recording import live as cluster_live

        return cluster_live.record_pods(cluster, cluster_live.Options(for_s=0.0)).recording
    if "://" in target:
        from barostat.io.local_host.recording import Sources, record_engines

        return record_engines(Sources((target,)), 0.0, 1.0)
    from barostat.io.bundles import bundle

    return bundle.read(Path(target))

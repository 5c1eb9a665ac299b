"""Bundles that kubectl gave of a real cluster (tests/cluster/test_causes_on_cluster.py made them)
keep their names and their remedies.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from barostat.io.bundles import bundle
from barostat.judge.advice.change_text import as_written
from barostat.judge.diagnosis.diagnose import diagnose

BUNDLES = Path(__file__).resolve().parents[3] / "data" / "clusters"
EXPECTED = {
    "bad-config-argument": ("bad-config", "argument", "remove-argument", "--swap-space 4"),
    "bad-config-service-links": (
        "bad-config",
        "argument",
        "fix-argument",
        "enableServiceLinks: false",
    ),
    "bad-config-shm": ("bad-config", "shm", "shm-size", "mountPath: /dev/shm"),
    "host-oom-cgroup": ("host-oom", "cgroup", "host-memory-limit", "limits: {memory: 2Gi}"),
    "scaling-lag-pending": ("scaling-lag", "pending", "wait-for-capacity", "GPU"),
}


def test_every_recording_is_expected() -> None:
    assert sorted(path.name for path in BUNDLES.iterdir()) == sorted(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_recorded_pod_is_named_and_gets_its_remedy(name: str) -> None:
    cause, variant, lever, change = EXPECTED[name]
    (replica,) = diagnose(bundle.read(BUNDLES / name)).replicas
    assert (replica.diagnosis.cause, replica.diagnosis.variant) == (cause, variant)
    # The log of a container that the kernel killed says no version; the image's tag does.
    assert replica.engine_version == "0.32.0"
    first = replica.next[0]
    assert (first.lever, change in str(as_written(first.change))) == (lever, True), first

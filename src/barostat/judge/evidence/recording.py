"""A recording: everything gathered about a workload, before anything is judged. io fills it, from
files or from a live engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from barostat.core.diagnosis import RunningRemedy
from barostat.engines.vllm.logs.digest import LogDigest
from barostat.engines.vllm.metrics.exposition import Exposition, read
from barostat.gpus.kernel_log import KernelDigest
from barostat.platform.access_log import AccessLogDigest
from barostat.platform.gateway_page import GatewayPage


@dataclass(frozen=True)
class Scrape:
    """A page of metrics, read whole at one instant. `at`: unix seconds. `source`: the path or URL
    that a person can look at.
    """

    at: float
    text: str
    source: str

    @cached_property
    def exposition(self) -> Exposition:
        """The page read: once, whoever asks, because reading is what costs."""
        return read(self.text)

    def dated(self) -> tuple[float, Exposition, str]:
        """Instant, page and source: as the readers of several scrapes take them."""
        return self.at, self.exposition, self.source


@dataclass(frozen=True, slots=True)
class HostReading:
    """One reading of the host around a replica: a bundle's host/<replica>/<unix seconds>.json,
    already decoded.
    """

    at: float
    values: Mapping[str, Any]
    source: str


@dataclass(frozen=True, slots=True)
class GpuText:
    """One vendor tool's output. `kind`: nvidia-smi.csv, nvidia-smi.txt, amd-smi.json, rocm-smi.json
    or dcgm.prom.
    """

    at: float
    kind: str
    text: str
    source: str


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """The server's responses other than /metrics. None: not requested. `at`: unix seconds."""

    at: float
    health_ok: bool | None = None
    token_ok: bool | None = None
    token_detail: str = ""
    max_model_len: int | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class ReplicaRecording:
    """One engine process group: a pod, a URL, or a local process.

    `args`: the command line as a list, or one shell string. `failed_scrapes`: instants at which
    /metrics did not answer, and why. `exit_code`: status of a local engine that ended (negative: a
    signal), None while it runs or where it is not ours to know.
    """

    name: str
    version: str | None = None
    args: tuple[str, ...] | str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    config_file: Mapping[str, Any] | None = None
    gpu: str | None = None
    gpu_memory_gib: float | None = None
    node: str | None = None
    scrapes: tuple[Scrape, ...] = ()
    failed_scrapes: tuple[tuple[float, str], ...] = ()
    log: LogDigest | None = None
    previous_log: LogDigest | None = None
    kernel_log: KernelDigest | None = None
    gpu_texts: tuple[GpuText, ...] = ()
    host: tuple[HostReading, ...] = ()
    probe: ProbeResult | None = None
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class Recording:
    """A workload's replicas and their environment. `at`: the instant to judge at, unix seconds.

    `kubernetes`: decoded `kubectl get -o json` documents by kind: pods, events, nodes, replicasets,
    deployments, statefulsets, hpas. `missing`: what could not be read for lack of a right, a
    sentence each. `gateway_pages`: metrics of Barostat's gateways in front of the replicas, with
    the gateway's name. `problems`: defects of the recording itself, a sentence each (a truncated
    file, an unknown name). `remedies`: those in progress.
    """

    target: str
    at: float
    replicas: tuple[ReplicaRecording, ...]
    engine: str = "vllm"
    kubernetes: Mapping[str, Any] = field(default_factory=dict)
    gateway: AccessLogDigest | None = None
    gateway_pages: tuple[GatewayPage, ...] = ()
    problems: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    remedies: tuple[RunningRemedy, ...] = ()

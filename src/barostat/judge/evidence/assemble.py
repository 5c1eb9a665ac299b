"""Turns a recording into windows: runs every reader and takes each signal from its best source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from barostat.catalog.signals import HISTORY_S, signal
from barostat.catalog.vllm_versions import NEWEST_READ
from barostat.core.config import ConfigValue
from barostat.core.signal import Signal
from barostat.core.version import EngineVersion, parse_version
from barostat.core.window import Window
from barostat.engines.vllm.command_line import config as vllm_config
from barostat.engines.vllm.logs.digest import LogDigest
from barostat.engines.vllm.logs.rules import NO_FAILURE
from barostat.engines.vllm.metrics import signals as metrics
from barostat.gpus import card_signals
from barostat.gpus import read as read_gpu
from barostat.judge.evidence.expected_work import with_expected_work
from barostat.judge.evidence.recording import Recording, ReplicaRecording
from barostat.platform import host, kubernetes
from barostat.platform.gateway_page import gateway_signals
from barostat.platform.objects import Object, name_of, text
from barostat.platform.pods import engine_container, find_pod, image_version, pod_place
from barostat.platform.workload import declared_args, workload_reference


def windows(
    recording: Recording, replica: ReplicaRecording
) -> tuple[dict[str, Window], tuple[str, ...]]:
    """Return one window per engine index of the replica ("" for a single engine), and the problems
    of the input.

    Precedence of sources for a signal: metrics, the log's statistics lines, the resolved
    configuration.
    """
    at = recording.at
    expositions = sorted((scrape.dated() for scrape in replica.scrapes), key=lambda entry: entry[0])
    digest = metrics.digest(expositions)
    problems = list(digest.problems)
    by_metrics = digest.signals
    vllm = [exposition for _, exposition, _ in expositions if exposition.is_vllm]
    log, previous_log = _logs(replica, answers=bool(vllm))
    problems += [
        f"{one.source}: {said}"
        for one in (log, previous_log)
        if one is not None
        for said in one.problems
    ]
    works = bool(vllm) or (log is not None and bool(log.ready or log.stats))
    by_log = log.signals(at) if log is not None else {}
    before = previous_log.signals(at, previous=True) if previous_log is not None else {}
    if works:
        by_log, before = _not_outlived(by_log, at), _not_outlived(before, at)
    pod = find_pod(recording.kubernetes, replica.name)
    version = _version(replica, log, image_version(pod))
    problems += _version_problems(replica, version, log)
    settings: Mapping[str, ConfigValue] = metrics.settings(vllm[-1]) if vllm else {}
    card = replica.gpu or _card_name(replica, _pod_name(pod, replica))
    resolved = vllm_config.resolve(
        args=declared_args(recording.kubernetes, pod) or replica.args,
        env=replica.env,
        config_file=replica.config_file,
        version=version,
        log_settings=log.settings if log is not None else {},
        metric_settings=settings,
        max_model_len_api=replica.probe.max_model_len if replica.probe is not None else None,
        gpu=card,
        gpu_memory_gib=replica.gpu_memory_gib,
    )
    around, around_problems = _surroundings(recording, replica)
    problems += around_problems
    engines = sorted({*by_metrics, *by_log} - {""}) or [""]
    return {
        engine: with_expected_work(
            Window(
                replica=replica.name,
                at=at,
                signals=_first_of(
                    by_metrics.get(engine, []),
                    by_metrics.get("", []),
                    by_log.get(engine, []),
                    by_log.get("", []),
                    before.get("", []),
                    vllm_config.config_signals(resolved, at),
                    around,
                ),
                config=resolved,
                version=version,
                pod="" if pod is None else f"{text(pod, 'metadata', 'namespace')}/{name_of(pod)}",
                workload=workload_reference(recording.kubernetes, pod),
            ),
            card,
        )
        for engine in engines
    }, tuple(dict.fromkeys(problems))


def _first_of(*sources: Iterable[Signal]) -> dict[str, Signal]:
    found: dict[str, Signal] = {}
    for source in sources:
        for item in source:
            found.setdefault(item.name, item)
    return found


def _logs(replica: ReplicaRecording, *, answers: bool) -> tuple[LogDigest | None, LogDigest | None]:
    """Return the log to judge by, and the one before the restart; an empty log counts as missing.

    An engine that fails to start fails repeatedly in the same way. While the current start has
    neither failed nor succeeded, the log of the previous one shows the reason.
    """
    log, before = (
        found if found is not None and found.lines else None
        for found in (replica.log, replica.previous_log)
    )
    undecided = not answers and (log is None or not (log.ready or log.stats or _failed(log)))
    if undecided and before is not None and _failed(before) and not (before.ready or before.stats):
        return before, before
    return log, before


def _not_outlived(made: Mapping[str, list[Signal]], at: float) -> dict[str, list[Signal]]:
    """The signals without those of a life before that ended long ago: as a pod's status tells an
    old restart and does not count it.
    """
    return {
        engine: [
            one
            for one in found
            if not (one.name.startswith("previous_log_") and at - one.at > HISTORY_S)
        ]
        for engine, found in made.items()
    }


def _failed(log: LogDigest) -> bool:
    return any(event.kind not in NO_FAILURE for event in log.events)


def _version(
    replica: ReplicaRecording, log: LogDigest | None, tag: str | None
) -> EngineVersion | None:
    """The version as declared, as the server says, as the log prints, or as the image's tag;
    metrics' names only bound it and say none.
    """
    said = [
        replica.version,
        replica.probe.version if replica.probe is not None else None,
        _printed_version(log),
        tag,
    ]
    return next((found for text in said if (found := parse_version(text)) is not None), None)


def _printed_version(log: LogDigest | None) -> str | None:
    printed = log.settings.get("version") if log is not None else None
    return str(printed.value) if printed is not None else None


def _version_problems(
    replica: ReplicaRecording, version: EngineVersion | None, log: LogDigest | None
) -> list[str]:
    """Return problems of the version: unparsable, newer than any known one, or different from the
    one that the engine reports.
    """
    found: list[str] = []
    if replica.version and parse_version(replica.version) is None:
        found.append(
            f"{replica.version!r} is no version of vLLM; "
            + (f"{version} is taken, as the engine says" if version else "left out")
        )
    if version is not None and version.beyond(NEWEST_READ):
        found.append(
            f"vLLM {version} is newer than the newest that is known here ({NEWEST_READ}): it is "
            "taken to be like that one"
        )
    told = parse_version(
        replica.probe.version if replica.probe is not None else None
    ) or parse_version(_printed_version(log))
    if version is not None and told is not None and told.release != version.release:
        found.append(
            f"the version is given as {version}, and the engine itself says {told}: one of "
            "them is of another engine"
        )
    return found


def _surroundings(
    recording: Recording, replica: ReplicaRecording
) -> tuple[list[Signal], list[str]]:
    """Signals of what is around the engine: cards, host, kernel, Kubernetes, gateway, and whether
    it answered at all.
    """
    found: list[Signal | None] = []
    problems: list[str] = []
    answered = [(scrape.at, 1.0) for scrape in replica.scrapes] + [
        (at, 0.0) for at, _ in replica.failed_scrapes
    ]
    why = replica.failed_scrapes[-1][1] if replica.failed_scrapes else ""
    found.append(signal("scrape_ok", answered, "/metrics", detail=why))
    if (probe := replica.probe) is not None:
        if probe.health_ok is not None:
            found.append(signal("health_ok", [(probe.at, float(probe.health_ok))], "/health"))
        if probe.token_ok is not None:
            found.append(
                signal(
                    "probe_token_ok",
                    [(probe.at, float(probe.token_ok))],
                    "one request of one token",
                    probe.token_detail,
                )
            )
    if replica.exit_code is not None:
        found.append(
            signal("process_exit_code", [(recording.at, replica.exit_code)], "the engine's process")
        )
    readings = []
    pod = find_pod(recording.kubernetes, replica.name) if recording.kubernetes else None
    for one in replica.gpu_texts:
        output = read_gpu(one.kind, one.text, _pod_name(pod, replica))
        problems += [f"{one.source}: {problem}" for problem in output.problems]
        if output.cards:
            readings.append((one.at, output.cards, one.source))
    hosts = [(reading.at, reading.values, reading.source) for reading in replica.host]
    found += card_signals.signals(readings, _own_pids(replica))
    found += host.signals(hosts)
    problems += host.problems(hosts)
    if replica.kernel_log is not None:
        found += replica.kernel_log.signals(recording.at).values()
    if recording.kubernetes:
        facts, trouble = kubernetes.signals(recording.kubernetes, replica.name, recording.at)
        found += facts
        found += _limits(recording.kubernetes, replica.name, recording.at)
        problems += trouble
    found += gateway_signals(recording.gateway_pages).values()
    if recording.gateway is not None:
        found += recording.gateway.signals(recording.at).values()
    return [item for item in found if item is not None], problems


def _pod_name(pod: Object | None, replica: ReplicaRecording) -> str:
    """Return the pod as exporters label it, `namespace/name`; if the pod was not read, as much as
    the replica's name contains.
    """
    if pod is not None:
        return f"{text(pod, 'metadata', 'namespace')}/{name_of(pod)}".removeprefix("/")
    place, bare = pod_place(replica.name)
    return f"{place.rpartition('/')[2]}/{bare}".removeprefix("/")


def _card_name(replica: ReplicaRecording, pod_name: str) -> str | None:
    """The card as the vendor's tool or the exporter calls it, None if neither was read."""
    seen = (
        card.name
        for one in replica.gpu_texts
        for card in read_gpu(one.kind, one.text, pod_name).cards
    )
    return next((name for name in seen if name), None)


def _own_pids(replica: ReplicaRecording) -> frozenset[int] | None:
    """Process ids of the engine as its host readings list them, or None if they list none."""
    listed = [
        reading.values.get("processes")
        for reading in replica.host
        if isinstance(reading.values, Mapping)
    ]
    processes = [
        process
        for entry in listed
        if isinstance(entry, list)
        for process in entry
        if isinstance(process, Mapping)
    ]
    return (
        frozenset(pid for process in processes if isinstance(pid := process.get("pid"), int))
        or None
    )


def _limits(documents: Mapping[str, Any], name: str, at: float) -> list[Signal | None]:
    """The container's limits as the pod spec states them: for where no host reading tells them."""
    pod = find_pod(documents, name)
    container = engine_container(pod) if pod is not None else None
    if container is None:
        return []
    stated = (
        ("cpu_limit_cores", container.cpu_limit_cores),
        ("host_memory_limit_bytes", container.memory_limit_bytes),
    )
    return [
        signal(kind, [(at, value)], f"limits of container {container.name}")
        for kind, value in stated
        if value is not None
    ]

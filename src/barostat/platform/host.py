"""The host around a replica: CPU and memory of its container and of each of its processes.

vLLM names its processes since 0.10 (`VLLM::EngineCore`, `VLLM::Worker_TP0`, `VLLM::APIServer_0`);
`ps` and /proc/*/comm cut them at 15 letters. Before that every one is `python3`, and which is which
cannot be told: then nothing is said about roles.

Source: vLLM 0.10 to 0.33 `set_process_title`; `vllm serve` and `vllm.entrypoints` command lines;
Linux process states.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from barostat.catalog.signals import signal
from barostat.core.signal import Signal

Reading = tuple[float, Mapping[str, Any], str]
Role = Literal["api-server", "engine-core", "worker"]

_PLAIN = {
    "cpu_usage_cores": "cpu_usage_cores",
    "cpu_limit_cores": "cpu_limit_cores",
    "cpu_throttled_ratio": "cpu_throttled_ratio",
    "memory_bytes": "host_memory_bytes",
    "memory_limit_bytes": "host_memory_limit_bytes",
}
_ROLE_WORDS: tuple[tuple[Role, re.Pattern[str]], ...] = (
    ("engine-core", re.compile(r"EngineCor|engine[-_ ]?core", re.IGNORECASE)),
    (
        "worker",
        re.compile(
            r"VLLM::Worker|VllmWorker|Worker_(?:TP|DP|PP|EP)|RayWorker|^worker", re.IGNORECASE
        ),
    ),
    ("api-server", re.compile(r"APIServer|api[-_ ]?server", re.IGNORECASE)),
)
_SERVE = re.compile(r"\bvllm\s+serve\b|vllm\.entrypoints|^(?:\S*/)?vllm$")


def role_of(name: str, role: str = "") -> Role | None:
    """Return a process's role by its given role or its title; None if neither identifies it."""
    for words in (role, name):
        for found, pattern in _ROLE_WORDS:
            if pattern.search(words):
                return found
    return None


def _roles(processes: Sequence[Mapping[str, Any]]) -> list[Role | None]:
    """The role of each process. A `vllm serve` is the API server only where the core runs in a
    process of its own.
    """
    names = [_word(process.get("name")) for process in processes]
    roles = [
        None
        if _SERVE.search(name) and not process.get("role")
        else role_of(name, _word(process.get("role")))
        for name, process in zip(names, processes, strict=True)
    ]
    if "engine-core" in roles and "api-server" not in roles:
        roles = [
            "api-server" if role is None and _SERVE.search(name) else role
            for role, name in zip(roles, names, strict=True)
        ]
    return roles


def _word(found: Any) -> str:
    return found if isinstance(found, str) else ""


def _number(found: Any) -> float | None:
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    try:
        as_float = float(found)
    except OverflowError:
        return None
    return as_float if math.isfinite(as_float) and as_float >= 0 else None


def _processes(values: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = values.get("processes")
    return (
        [process for process in found if isinstance(process, dict)]
        if isinstance(found, list)
        else []
    )


def signals(readings: Sequence[Reading]) -> list[Signal]:
    """The CPU and memory signals of the readings (instant, decoded JSON, source), in time order
    whatever theirs is.
    """
    points: dict[str, list[tuple[float, float]]] = {}
    details: dict[str, str] = {}
    sources: dict[str, str] = {}
    for at, values, source in sorted(readings, key=lambda reading: reading[0]):
        for name, (measured, detail) in _measured(values).items():
            points.setdefault(name, []).append((at, measured))
            details[name], sources[name] = detail, source
    made = [signal(name, found, sources[name], details[name]) for name, found in points.items()]
    return [found for found in made if found is not None]


def _measured(values: Mapping[str, Any]) -> dict[str, tuple[float, str]]:
    """Signal name -> value and detail of one reading."""
    made: dict[str, tuple[float, str]] = {}
    for key, name in _PLAIN.items():
        found = _number(values.get(key)) if isinstance(values, Mapping) else None
        unlimited = key in ("cpu_limit_cores", "memory_limit_bytes") and (
            found == 0 or (found is not None and found > 2.0**60)
        )
        if (
            found is not None
            and not unlimited
            and not (key == "cpu_throttled_ratio" and found > 1.0)
        ):
            made[name] = (found, "")
    processes = _processes(values) if isinstance(values, Mapping) else []
    roles = _roles(processes)
    for role, name in (
        ("api-server", "api_server_cpu_cores"),
        ("engine-core", "engine_core_cpu_cores"),
        ("worker", "worker_cpu_cores"),
    ):
        busy = [
            (cores, _word(process.get("name")))
            for process, found in zip(processes, roles, strict=True)
            if found == role and (cores := _number(process.get("cpu_cores"))) is not None
        ]
        if busy:
            made[name] = max(busy)
    states = [
        (_word(process.get("name")), _stopped(_word(process.get("state"))))
        for process, found in zip(processes, roles, strict=True)
        if found in ("engine-core", "worker") and _word(process.get("state"))
    ]
    if states:
        stopped = [name for name, is_stopped in states if is_stopped]
        made["engine_core_stopped"] = (
            float(bool(stopped)),
            f"stopped: {', '.join(stopped)}" if stopped else "",
        )
    return made


def _stopped(state: str) -> bool:
    """True for a process stopped by a signal (`T`, `T (stopped)`, `stopped`); `t` is a debugger's
    moment, not that.
    """
    return state.startswith("T") or state.lower() == "stopped"


def problems(readings: Sequence[Reading]) -> list[str]:
    """Return what the readings lack or report incorrectly, a sentence each."""
    said: list[str] = []
    for _, values, source in readings:
        if not isinstance(values, Mapping):
            said.append(f"{source}: not an object")
            continue
        said += [
            f"{source}: {key} is {str(values[key])[:40]!r}, not an amount"
            for key in _PLAIN
            if _is_wrong(key, values.get(key))
        ]
        listed = values.get("processes")
        if listed is not None and not isinstance(listed, list):
            said.append(f"{source}: processes is not a list")
        processes = _processes(values)
        if processes and not any(_roles(processes)):
            said.append(
                f"{source}: no process is named as vLLM names them (it does since 0.10), "
                "so CPU per role is unknown"
            )
    return list(dict.fromkeys(said))


def _is_wrong(key: str, found: Any) -> bool:
    if found is None:
        return False
    number = _number(found)
    return number is None or (key == "cpu_throttled_ratio" and number > 1.0)

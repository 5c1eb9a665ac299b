"""Asks one lever about a concrete engine: readings and settings in, its proposal or its reason
out.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from barostat.catalog.signals import signal
from barostat.core.config import ConfigScalar, ConfigValue, EngineConfig
from barostat.core.diagnosis import CauseName
from barostat.core.lever import Lever, NotApplicable, Proposal, Situation
from barostat.core.version import parse_version
from barostat.core.window import Window
from barostat.judge.advice.change_text import as_written
from barostat.platform.workload import workload_by_pod_name

NOW = 1_800_000_000.0
GIB = 1024.0**3


def ask(
    lever: str,
    cause: CauseName,
    variant: str = "",
    *,
    version: str | None = "0.32.0",
    replica: str = "vllm-6d5c7b9f8d-x2x4z",
    in_cluster: bool = True,
    config: dict[str, ConfigScalar] | None = None,
    defaults: dict[str, ConfigScalar] | None = None,
    also: Mapping[str, float] | None = None,
    **readings: float | tuple[float, str],
) -> Proposal | NotApplicable:
    """The lever's answer for readings (a value, or a value and its detail), settings given by
    flags, and defaults.
    """
    found: Lever = importlib.import_module(f"barostat.levers.{lever.replace('-', '_')}").LEVER
    assert cause in found.causes
    signals = {}
    for name, reading in {**(also or {}), **readings}.items():
        value, detail = reading if isinstance(reading, tuple) else (reading, "")
        made = signal(name, [(NOW - 30, value), (NOW, value)], "test", detail)
        assert made is not None
        signals[name] = made
    values = {
        name: ConfigValue(value, "version-default", "default")
        for name, value in (defaults or {}).items()
    }
    values.update(
        {
            name: ConfigValue(value, "flag", f"--{name.replace('_', '-')}={value}")
            for name, value in (config or {}).items()
        }
    )
    pod = f"chat/{replica}" if in_cluster else ""
    return found.propose(
        Situation(
            cause,
            variant,
            Window(
                replica,
                NOW,
                signals,
                EngineConfig(values),
                parse_version(version),
                pod,
                workload_by_pod_name(replica, "chat") if in_cluster else None,
            ),
        )
    )


def proposed(answer: Proposal | NotApplicable) -> str:
    """The change, where there is one."""
    assert isinstance(answer, Proposal), answer
    return str(as_written(answer.change))


def refused(answer: Proposal | NotApplicable, *, classic: bool | None = None) -> str:
    """The reason, where it is not applicable."""
    assert isinstance(answer, NotApplicable), answer
    assert classic is None or answer.classic is classic, answer
    return str(answer.because)

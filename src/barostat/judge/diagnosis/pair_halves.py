"""Replicas that prefill for others, or decode what others prefilled: which half is under pressure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace

from barostat.core.diagnosis import NOTHING_WRONG, Diagnosis, ReplicaReport
from barostat.core.window import Window
from barostat.judge.diagnosis.fleet import badness
from barostat.judge.evidence.recording import Recording
from barostat.platform.pair_half import Half, half_of
from barostat.platform.pods import pod_finder

_ROLES: Mapping[str, Half] = {"kv_producer": "prefill", "kv_consumer": "decode"}
_ROLE = re.compile(r'"kv_role"\s*:\s*"(\w+)"')


def halves(recording: Recording, windows: Mapping[str, Window]) -> dict[str, Half]:
    """The half that each replica is, by its pod's labels, else by `kv_role` of
    --kv-transfer-config; without replicas that do both.
    """
    found: dict[str, Half] = {}
    pod_named = pod_finder(recording.kubernetes)
    for name, window in windows.items():
        half = half_of(pod_named(name) if recording.kubernetes else None)
        if half or (half := _by_transfer(window)):
            found[name] = half
    return found


def with_halves(
    fleet: Diagnosis, replicas: tuple[ReplicaReport, ...], halves: Mapping[str, Half]
) -> Diagnosis:
    """The fleet's diagnosis, which says what each half of a pair has: only the half under pressure is
    worth a change.
    """
    said = []
    for half in ("prefill", "decode"):
        own = [report.diagnosis for report in replicas if halves.get(report.name) == half]
        if own:
            worst = max(own, key=badness)
            share = sum(one.cause == worst.cause for one in own)
            said.append((worst, f"{half} {worst.cause} ({share} of {len(own)})"))
    if not said:
        return fleet
    ill = [worst.cause not in NOTHING_WRONG for worst, _ in said]
    names = [text.partition(" ")[0] for _, text in said]
    under = [name for name, is_ill in zip(names, ill, strict=True) if is_ill]
    found = " By half of the prefill/decode pair: " + ", ".join(text for _, text in said) + "."
    if len(under) == 1:
        found += f" Change {under[0]}."
    return replace(fleet, summary=fleet.summary + found)


def _by_transfer(window: Window) -> Half:
    value = window.config.values.get("kv_transfer_config")
    if value is None:
        return ""
    written = value.value
    text = written if isinstance(written, str) else json.dumps(written, default=str)
    role = _ROLE.search(text)
    return _ROLES.get(role[1], "") if role is not None else ""

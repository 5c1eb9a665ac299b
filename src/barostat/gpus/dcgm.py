"""DCGM exporter metrics (Prometheus text), read into cards.

Source: dcgm-exporter 3.x and 4.x default and full counter lists; DCGM field ids (dcgm_fields.h) and
their blank values.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping

from barostat.catalog.gpu_faults import throttle_reasons, xid_weight
from barostat.gpus.card import MIB, Card, GpuOutput, power_share

_LINE = re.compile(r"^(DCGM_\w+)\s*(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?\s*$", re.IGNORECASE)
_LABEL = re.compile(r'(?<!\w)([A-Za-z_]\w*+)\s*+=\s*+"((?:[^"\\]|\\.)*)"')
_BLANK = 2_147_483_632.0
"""DCGM's smallest blank value (int32); those of int64 and double are larger. Above it, memory in
MiB or a mask means nothing.
"""

_POD_LABELS = (
    ("exported_pod", "exported_namespace"),
    ("pod_name", "pod_namespace"),
    ("pod", "namespace"),
)
"""Prometheus renames the exporter's `pod` to `exported_pod`; then `pod` is the exporter itself, and
`namespace` where that runs.
"""


def read_dcgm(text: str, pod: str = "") -> GpuOutput:
    """Read the cards in an exporter's text. `pod`: only the cards that the labels assign to this
    pod; all cards if labels name no pods.

    `pod` is a name, or `namespace/name`, which then must match the labels.

    Errors: none; unreadable parts are sentences in `problems`.
    """
    rows: dict[tuple[str, str, str], dict[str, float]] = defaultdict(dict)
    labels_of: dict[tuple[str, str, str], Mapping[str, str]] = {}
    owners: dict[tuple[str, str, str], set[tuple[str, str]]] = defaultdict(set)
    xids: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    unread = 0
    for line in text.splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        match = _LINE.match(line)
        if not match:
            unread += line.upper().startswith("DCGM_")
            continue
        value = _value(match[3])
        labels = dict(_LABEL.findall(match[2] or ""))
        gpu = labels.get("gpu") or labels.get("device", "").removeprefix("nvidia")
        key = (
            labels.get("Hostname", ""),
            labels.get("UUID") or labels.get("uuid") or gpu,
            labels.get("GPU_I_ID", ""),
        )
        labels_of[key] = {**labels_of.get(key, {}), **labels}
        name, space = next((pair for pair in _POD_LABELS if pair[0] in labels), ("", ""))
        if owner := labels.get(name):
            owners[key].add((labels.get(space, ""), owner))
        if value is not None:
            metric = match[1].upper()
            # The exporter counts Xids per code in DCGM_EXP_XID_ERRORS_COUNT{xid="79"}: the code is
            # in the label.
            if metric == "DCGM_EXP_XID_ERRORS_COUNT":
                code = _value(labels.get("xid", ""))
                if value > 0 and code is not None:
                    xids[key].append(code)
            elif metric == "DCGM_FI_DEV_XID_ERRORS":
                xids[key].append(value)
            else:
                rows[key][metric] = value
    for key, codes in xids.items():
        if known := [int(code) for code in codes if 0 <= code < _BLANK]:
            rows[key]["DCGM_FI_DEV_XID_ERRORS"] = max(known, key=xid_weight)
    problems = [f"{unread} lines of the DCGM exporter cannot be read"] if unread else []
    keys = sorted(labels_of)
    if not keys:
        problems.append("no DCGM metric in this text")
    if pod and any(owners.values()):
        mine = [key for key in keys if _is_of(owners[key], pod)]
        if not mine:
            problems.append(
                f"the DCGM exporter gives no card to pod {pod}; cards of other pods are left out"
            )
            mine = [key for key in keys if not owners[key]]
        keys = mine
    return GpuOutput(
        tuple(_card(place, labels_of[key], rows[key]) for place, key in enumerate(keys)),
        tuple(problems),
    )


def _is_of(owners: set[tuple[str, str]], pod: str) -> bool:
    """True if the pod is among these; a namespace counts where both tell one."""
    namespace, _, bare = pod.rpartition("/")
    spaces = {space for space, name in owners if name == bare}
    return bool(spaces) and (not namespace or namespace in spaces or spaces == {""})


def _value(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _card(place: int, labels: Mapping[str, str], row: Mapping[str, float]) -> Card:
    def reading(*names: str) -> float | None:
        return next((row[name] for name in names if name in row and 0 <= row[name] < _BLANK), None)

    used, free, reserved = (
        reading("DCGM_FI_DEV_FB_USED"),
        reading("DCGM_FI_DEV_FB_FREE"),
        reading("DCGM_FI_DEV_FB_RESERVED"),
    )
    total = reading("DCGM_FI_DEV_FB_TOTAL")
    if total is None and used is not None and free is not None:
        total = used + free + (reserved or 0.0)
    active = reading("DCGM_FI_PROF_GR_ENGINE_ACTIVE")
    percent = reading("DCGM_FI_DEV_GPU_UTIL")
    mask = reading(
        "DCGM_FI_DEV_CLOCKS_EVENT_REASONS",
        "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS",
        "DCGM_FI_DEV_CLOCK_REASONS",
    )
    pending = [
        reading(name) for name in ("DCGM_FI_DEV_ROW_REMAP_PENDING", "DCGM_FI_DEV_RETIRED_PENDING")
    ]
    counted = [count for count in pending if count is not None]
    xid = reading("DCGM_FI_DEV_XID_ERRORS")
    index = labels.get("gpu", "")
    slice_id = labels.get("GPU_I_ID", "")
    return Card(
        index=int(index) if index.isascii() and index.isdigit() and len(index) < 5 else place,
        vendor="nvidia",
        name=" MIG ".join(part for part in (labels.get("modelName", ""), slice_id) if part),
        uuid=labels.get("UUID") or labels.get("uuid", ""),
        memory_used_bytes=None if used is None else used * MIB,
        memory_total_bytes=None if total is None else total * MIB,
        utilization_ratio=active
        if active is not None and active <= 1.0
        else (percent / 100.0 if percent is not None and percent <= 100 else None),
        power_ratio=power_share(
            reading("DCGM_FI_DEV_POWER_USAGE"),
            reading("DCGM_FI_DEV_ENFORCED_POWER_LIMIT", "DCGM_FI_DEV_POWER_MGMT_LIMIT"),
        ),
        temperature_c=reading("DCGM_FI_DEV_GPU_TEMP"),
        throttle=None if mask is None else throttle_reasons(int(mask)),
        ecc_uncorrected=reading("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL"),
        ecc_corrected=reading("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL"),
        rows_pending=float(sum(1 for count in counted if count > 0)) if counted else None,
        rows_failed=reading("DCGM_FI_DEV_ROW_REMAP_FAILURE"),
        xid=None if xid is None else int(xid),
    )

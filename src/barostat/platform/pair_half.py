"""Which half of a prefill/decode pair a pod is, by the labels that its owner gives it.

Source: llm-d (llm-d.ai/role), DisaggregatedSet, AIBrix (role-name), Dynamo (dynamo-component-type,
dynamo-sub-component-type), Grove; `role_label` of each kind in `platform/workloads`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from barostat.platform.objects import Object, mapping
from barostat.platform.workloads import kinds

Half = Literal["prefill", "decode", ""]
_DOMAIN = "nvidia.com/dynamo-"
_OTHERS = ("llm-d.ai/role", f"{_DOMAIN}sub-component-type", f"{_DOMAIN}component-type")
_WORD = re.compile(r"prefill|decode")


def half_of(pod: Object | None) -> Half:
    """`prefill` or `decode`; empty for a pod that does both, or whose labels do not tell."""
    labels = mapping(pod, "metadata", "labels")
    words = {word for key in _labels() for word in _WORD.findall(str(labels.get(key, "")).lower())}
    if words == {"prefill"}:
        return "prefill"
    return "decode" if words == {"decode"} else ""


@cache
def _labels() -> tuple[str, ...]:
    return tuple(dict.fromkeys((*_OTHERS, *(kind.role_label for kind in kinds()))))

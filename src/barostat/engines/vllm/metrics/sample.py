"""One line of a page of metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Sample(NamedTuple):
    """One line: `name` has the `vllm:` prefix, even if the exporter changed it (Ray writes
    `ray_vllm_`).
    """

    name: str
    labels: Mapping[str, str]
    value: float

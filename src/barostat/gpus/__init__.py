"""Vendor tools and exporters, read into cards; and the kernel's words about them."""

from __future__ import annotations

from barostat.gpus.amd import read_amd_smi, read_rocm_smi
from barostat.gpus.card import Card, CardProcess, GpuOutput
from barostat.gpus.dcgm import read_dcgm
from barostat.gpus.nvidia import read_query
from barostat.gpus.nvidia_table import read_table

__all__ = ["KINDS", "Card", "CardProcess", "GpuOutput", "read"]

KINDS = ("nvidia-smi.csv", "nvidia-smi.txt", "amd-smi.json", "rocm-smi.json", "dcgm.prom")
"""File name endings of a bundle's gpu/ directory, and who reads them."""


def _has_cells(text: str) -> bool:
    return any(
        "," in line and not line.lstrip().startswith(("|", "+")) for line in text.splitlines()
    )


def read(kind: str, text: str, pod: str = "") -> GpuOutput:
    """The cards in one tool's output. `pod`: with dcgm.prom, only the cards of that pod (`name` or
    `namespace/name`) where the labels tell.

    Errors: none; what cannot be read is a sentence in `problems`.
    """
    match kind:
        case "nvidia-smi.csv" | "nvidia-smi.txt":
            # People save the one under the other's name; the table says of itself what it is.
            return (
                read_table(text)
                if "| NVIDIA-SMI" in text or not _has_cells(text)
                else read_query(text)
            )
        case "amd-smi.json":
            return read_amd_smi(text)
        case "rocm-smi.json":
            return read_rocm_smi(text)
        case "dcgm.prom":
            return read_dcgm(text, pod)
        case _:
            return GpuOutput(
                problems=(
                    (
                        f"no reader for GPU output of kind {kind!r}; known kinds are "
                        f"{', '.join(KINDS)}"
                    ),
                )
            )

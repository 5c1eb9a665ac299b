"""The meaning of NVIDIA's Xid codes for the card: failed, pending reset, or caused by a program.

`fatal`: the card, its memory or its link failed, or needs a reset or a reboot; drain the node.
`pending`: memory was repaired and the repair takes effect at the next reset; the card keeps working
and no data was lost. `application`: a program caused the fault; the card keeps working. Next to a
fatal code on the same card it is a consequence of it. `unclear`: ambiguous; shown, but never
counted.

Source: NVIDIA, Xid Errors, the catalogue (R555 to R590) with its resolution buckets; codes that its
Kubernetes device plugin ignores by default (see also `gpu_faults.XID_OF_APPLICATIONS`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

XidClass = Literal["fatal", "pending", "application", "unclear"]


@dataclass(frozen=True, slots=True)
class Xid:
    """One code. `meaning`: in a few words, for a person."""

    code: int
    kind: XidClass
    meaning: str


_ROWS: tuple[tuple[int, XidClass, str], ...] = (
    (8, "application", "GPU stopped processing a channel"),
    (11, "application", "invalid or corrupted push buffer"),
    (13, "application", "graphics engine exception: a kernel's bad access or instruction"),
    (31, "application", "memory page fault: a kernel touched an address that is not mapped"),
    (32, "application", "invalid or corrupted push buffer stream"),
    (38, "unclear", "driver firmware error"),
    (43, "application", "a channel was reset after a kernel fault"),
    (44, "unclear", "graphics engine fault while switching contexts"),
    (45, "application", "a channel was torn down, after another error or a kill"),
    (46, "fatal", "GPU timed out"),
    (48, "fatal", "double-bit ECC error"),
    (54, "fatal", "auxiliary power is not connected"),
    (61, "unclear", "internal microcontroller breakpoint"),
    (62, "fatal", "internal microcontroller halted"),
    (63, "pending", "a row remapping (page retirement) was recorded and waits for a reset"),
    (64, "fatal", "a row remapping (page retirement) could not be recorded"),
    (68, "application", "video decoder exception"),
    (69, "application", "graphics engine class error"),
    (74, "fatal", "NVLink error"),
    (78, "unclear", "virtual GPU did not start"),
    (79, "fatal", "GPU has fallen off the bus"),
    (80, "unclear", "corrupted data sent to the GPU"),
    (92, "fatal", "high rate of single-bit ECC errors"),
    (93, "unclear", "wear limit of the InfoROM"),
    (94, "fatal", "contained uncorrectable memory error: the program that touched it ends"),
    (95, "fatal", "uncontained memory error: every program on the card is affected"),
    (109, "application", "context switch timed out"),
    (110, "fatal", "security fault"),
    (119, "fatal", "the GPU's system processor (GSP) did not answer a call"),
    (120, "fatal", "the GPU's system processor (GSP) failed"),
    (121, "unclear", "chip-to-chip link error, corrected"),
    (122, "unclear", "flash read of the power controller failed"),
    (123, "unclear", "power controller did not answer"),
    (136, "fatal", "NVLink did not train"),
    (137, "application", "access over NVLink that is not permitted"),
    (140, "fatal", "unrecovered ECC error"),
    (143, "fatal", "GPU did not initialise"),
    (144, "unclear", "NVLink error (SAW)"),
    (145, "unclear", "NVLink error (RLW)"),
    (146, "unclear", "NVLink error (TLW)"),
    (147, "unclear", "NVLink error (TREX)"),
    (148, "unclear", "NVLink error (NVLPW_CTRL)"),
    (149, "unclear", "NVLink error (NETIR)"),
    (150, "unclear", "NVLink error (MSE)"),
    (154, "unclear", "the recovery action changed"),
    (156, "pending", "memory was retired and the repair waits for a reset"),
    (157, "fatal", "memory could not be retired"),
    (158, "fatal", "fatal timeout of the GPU"),
    (160, "pending", "a memory channel was retired and waits for a reset"),
    (161, "fatal", "a memory channel could not be retired"),
    (167, "fatal", "fatal PCIe timeout"),
)

XIDS: dict[int, Xid] = {code: Xid(code, kind, meaning) for code, kind, meaning in _ROWS}

_NEEDS_ACTION = re.compile(
    r"GPU Reset Required|Node Reboot Required|Drain(?: and|,)? ?(?:P2P|Reset)|\(0x[1-9]",
    re.IGNORECASE,
)
_CHANGED_TO = re.compile(r"changed from .* to (?P<to>.*)", re.IGNORECASE)


_NVLINK_CODES = range(144, 151)
_CAUSED_BY = re.compile(r"caused by previous Xid (?P<code>\d{1,5})", re.IGNORECASE)


def xid(code: int, text: str = "") -> Xid:
    """Return the meaning of a code. `text`: the rest of its log line.

    The text decides for 154 (the new recovery action), for NVLink (144 to 150 state whether they
    are fatal), and for 45, which names the code that tore the channel down.
    """
    known = XIDS.get(code, Xid(code, "unclear", "not in the catalogue"))
    if code == 45 and (before := _CAUSED_BY.search(text)):
        cause = xid(
            int(before["code"]), "Fatal"
        )  # work was lost by it: that is what fatal says of a link
        return cause if cause.kind == "fatal" else known
    if code in _NVLINK_CODES and re.search(r"\bFatal\b", text):
        return Xid(code, "fatal", known.meaning)
    if code == 154:
        changed = _CHANGED_TO.search(text)
        if _NEEDS_ACTION.search(changed["to"] if changed else text):
            return Xid(
                code,
                "fatal",
                "the driver asks for a reset of the GPU, a drain or a reboot of the node",
            )
    return known

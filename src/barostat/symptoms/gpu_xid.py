"""The GPU driver logged an Xid that means broken hardware or a lost card.

Meaning: codes such as 48, 64, 74, 79, 94, 95, 119, 120: memory, link, bus or firmware.

Impact: the engine on that card dies or hangs, and so does the next one that is placed there.

Evidence: NVRM Xid lines in the kernel log with the card's address; the exporter's last code, which
has no time.

Not evidence: 13, 31, 43, 45 and the like: programs cause them (gpu-xid-software). 63, 156, 160: a
repair that waits for a reset, and the card works. An exporter's 38, 61, 121, 144 to 150, 154 and
what is in no catalogue: alone they tell nothing.

Mitigation: drain the node; the code says what its owner has to do (reset, reboot, replace).

Source: NVIDIA Xid catalogue; DCGM_FI_DEV_XID_ERRORS.
"""

from __future__ import annotations

from barostat.catalog.xid import xid
from barostat.core.symptom import Symptom
from barostat.core.verdict import Absent, Present, Verdict
from barostat.core.window import Window
from barostat.symptoms._lines import quote, times

NEEDS_ANY = ("kernel_xid_fatal", "gpu_xid")


def judge(window: Window) -> Verdict:
    """Present if the kernel log or the exporter shows an Xid of the hardware."""
    fatal, last = window.fresh("kernel_xid_fatal"), window.fresh("gpu_xid")
    evidence = tuple(signal.evidence(window.at) for signal in (fatal, last) if signal is not None)
    if fatal is not None and fatal.last > 0:
        detail = f": {quote(fatal.detail)}" if fatal.detail else ""
        return Present(f"the driver reports a hardware fault{times(fatal.last)}{detail}", evidence)
    if last is not None and last.last > 0:
        code = xid(int(last.last))
        if code.kind == "fatal":
            return Present(
                f"the exporter's last Xid is {code.code}, a fault of the hardware (when it "
                "happened is not told)",
                evidence,
                0.75,
            )
        return Absent(
            f"the exporter's last Xid, {code.code}, is no broken card: {code.meaning}", evidence
        )
    return Absent("no Xid of the hardware", evidence)


SYMPTOM = Symptom(
    name="gpu-xid",
    title="the driver reports a hardware fault (Xid)",
    judge=judge,
    needs_any=NEEDS_ANY,
)

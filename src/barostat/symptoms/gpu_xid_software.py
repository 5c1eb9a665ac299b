"""The GPU driver logged an Xid that a program causes.

Meaning: codes such as 13 (graphics engine exception), 31 (MMU fault), 43 and 45 (the process was
ended): a kernel did something forbidden.

Impact: the process on the card dies; the card is well.

Evidence: NVRM Xid lines with these codes.

Not evidence: of broken hardware, unless ECC counters or fatal codes stand beside it, or it follows
one card across engine versions.

Mitigation: look for a known fault of the engine version, attention backend or quantisation; keep
the node.

Source: NVIDIA Xid catalogue; codes that the Kubernetes device plugin ignores.
"""

from __future__ import annotations

from barostat.catalog.gpu_faults import XID_OF_APPLICATIONS
from barostat.core.symptom import Symptom
from barostat.core.verdict import Absent, Present, Verdict
from barostat.core.window import Window
from barostat.symptoms._lines import quote, times

NEEDS_ANY = ("kernel_xid_software", "gpu_xid")


def judge(window: Window) -> Verdict:
    """Present if the kernel log or the exporter shows an Xid of a program."""
    software, last = window.fresh("kernel_xid_software"), window.fresh("gpu_xid")
    evidence = tuple(
        signal.evidence(window.at) for signal in (software, last) if signal is not None
    )
    if software is not None and software.last > 0:
        detail = f": {quote(software.detail)}" if software.detail else ""
        return Present(
            f"the driver reports a program's fault{times(software.last)}{detail}", evidence, 0.95
        )
    if last is not None and int(last.last) in XID_OF_APPLICATIONS:
        return Present(
            f"the exporter's last Xid is {last.last:.0f}, which programs cause (when it "
            "happened is not told)",
            evidence,
            0.7,
        )
    return Absent("no Xid of a program", evidence)


SYMPTOM = Symptom(
    name="gpu-xid-software",
    title="the driver reports a program's fault (Xid)",
    judge=judge,
    needs_any=NEEDS_ANY,
)

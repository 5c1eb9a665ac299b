"""The GPU's memory has had errors that could not be corrected.

Meaning: double-bit errors, or rows that are to be remapped and wait for a reset.

Impact: the process that touched the row dies; results on some cards cannot be trusted until the
reset.

Evidence: uncorrected errors (volatile: since the driver was loaded), a row that could not be
remapped. Rows or pages pending count little: the card keeps working.

Not evidence: corrected errors: the card mended them; a steep rise is worth a ticket, not a page.

Mitigation: drain the node, reset or reboot, and let its owner decide on replacement.

Source: nvidia-smi ecc.errors.uncorrected.volatile, DCGM_FI_DEV_ECC_DBE_VOL_TOTAL,
remapped_rows.pending; amd-smi uncorrectable counts.
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Absent, Present, Verdict
from barostat.core.window import Window
from barostat.symptoms._lines import plural

NEEDS_ANY = ("gpu_ecc_uncorrected", "gpu_rows_pending", "gpu_rows_failed")


def judge(window: Window) -> Verdict:
    """Present if uncorrected errors were counted, or a row waits to be remapped or could not be."""
    uncorrected, pending, failed = (window.fresh(name) for name in NEEDS_ANY)
    told = (uncorrected, pending, failed, window.fresh("gpu_ecc_corrected"))
    evidence = tuple(signal.evidence(window.at) for signal in told if signal is not None)
    if uncorrected is not None and uncorrected.last > 0:
        grew = uncorrected.last > uncorrected.first
        because = f"{plural(uncorrected.last, 'uncorrectable memory error')}{' (growing now)' if grew else ' since the driver was loaded'}"
        return Present(because, evidence, 1.0 if grew else 0.85)
    if failed is not None and failed.last > 0:
        return Present("a memory row could not be remapped", evidence, 0.85)
    if pending is not None and pending.last > 0:
        return Present(
            f"{plural(pending.last, 'memory row')} waiting for a reset to be remapped",
            evidence,
            0.4,
        )
    return Absent("no uncorrectable memory errors", evidence)


SYMPTOM = Symptom(
    name="gpu-ecc", title="uncorrectable memory errors on a GPU", judge=judge, needs_any=NEEDS_ANY
)

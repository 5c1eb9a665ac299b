"""The card or its node is faulty: throttled by heat or power, ECC errors, or lost.

Meaning: hardware, driver or cooling. From the engine it looks like pressure (slower steps) or like
a crash.

Impact: a slow or dead replica that no vLLM setting can mend; it also slows every rank that waits
for it.

Evidence: thermal or hardware slowdown among the throttle reasons under load, uncorrected ECC
errors, a fatal Xid, a card that does not answer, a node condition that is bad.

Not evidence: the software power cap and idle clocks among the throttle reasons (normal), corrected
ECC errors, an Xid that applications cause (13, 31, 43, 45) without a hardware one beside it; a row
of memory that was repaired and waits for a reset, which is only a remark.

Mitigation: move the work away (cordon, then drain) and hand the node to its owner. Do not tune the
server on a sick card.

Source: NVIDIA's Xid catalogue and nvidia-smi documentation; the pre-checks of the runbook; vLLM
issue 5222.
"""

from __future__ import annotations

from barostat.judge.diagnosis.case import Case, Cause, Claim, Cleared, Judgement, Open

# symptom -> variant, the surest first
KINDS = (
    ("gpu-ecc", "ecc"),
    ("gpu-xid", "xid"),
    ("gpu-lost", "xid"),
    ("gpu-fault-in-log", "xid"),
    ("gpu-throttled", "throttle"),
    ("node-unhealthy", "xid"),
)


BROKEN = ("gpu_rows_failed", "gpu_ecc_uncorrected")
"""Counts of gpu-ecc that say that memory was lost."""


def _repair_waits(case: Case) -> bool:
    """True if gpu-ecc saw no more than a repaired row that waits for a reset."""
    rows = case.window.fresh("gpu_rows_pending")
    broken = [
        found
        for name in BROKEN
        if (found := case.window.fresh(name)) is not None and found.last > 0
    ]
    return bool(case.present("gpu-ecc")) and rows is not None and rows.last > 0 and not broken


def judge(case: Case) -> Judgement:
    """Claim on hardware evidence only."""
    names, waits = tuple(name for name, _ in KINDS), _repair_waits(case)
    for name, variant in KINDS:
        if case.present(name) and not (name == "gpu-ecc" and waits):
            said = case.because(name)
            return Claim(
                confidence=case.confidence(name) * 0.95,
                severity="critical",
                summary=f"The card or its node is faulty: {said}.",
                rests_on=(name, *(other for other in case.present(*names) if other != name)),
                variant="ecc" if "ECC" in said else "throttle" if "Slowdown" in said else variant,
            )
    if waits:
        return Claim(
            confidence=case.confidence("gpu-ecc"),
            severity="warning",
            summary=f"The card should be reset when that suits: {case.because('gpu-ecc')}.",
            rests_on=("gpu-ecc",),
            variant="ecc",
            only_contributes=True,
        )
    clear = tuple(name for name in names if case.absent(name))
    if clear:
        return Cleared(case.because(clear[0]))
    return Open(
        "neither the card's state nor a kernel log was given",
        case.missing("gpu-throttled", "gpu-ecc", "gpu-xid"),
    )


CAUSE = Cause("node-fault", "Faulty card or node: throttle, ECC, Xid", 1, judge)

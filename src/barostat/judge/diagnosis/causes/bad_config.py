"""A setting stops the engine: an argument, the model's path, /dev/shm, a probe, or the pod itself.

Meaning: the process is told something that it cannot do, or its pod is. Nothing about load.

Impact: the pod never becomes Ready, or is killed by its own probe again and again.

Evidence: the argument parser's error, a refused value, a model that cannot be had, a /dev/shm that is too small, probe failures that
end in kills, an image that cannot be pulled or does not fit the node's driver, a directory that is full or not permitted.

Not evidence: an error in a log that a later start has outlived; warnings.

Mitigation: mend that one line; if a rollout brought it, undo the rollout first.

Source: argparse, vLLM 0.32.0 engine arguments; Kubernetes 1.34 container states and events.
"""

from __future__ import annotations

from barostat.judge.diagnosis.case import Case, Cause, Claim, Cleared, Judgement, Open

KINDS = (
    ("unknown-argument", "argument"),
    ("shm-too-small", "shm"),
    ("broken-install", "pod"),
    ("storage-refused", "pod"),
    ("model-not-found", "model"),
    ("invalid-config", "argument"),
    ("port-in-use", "pod"),
    ("image-or-container-error", "pod"),
    ("probe-killed", "probe"),
)
LEADS = {
    "argument": "An argument stops the engine",
    "model": "The model cannot be had",
    "shm": "The pod's /dev/shm stops the engine",
    "probe": "The pod's own probe stops the engine",
    "pod": "The pod cannot run the engine",
}


def judge(case: Case) -> Judgement:
    """Claim where the refusal is written down."""
    names = tuple(name for name, _ in KINDS)
    for name, variant in KINDS:
        if case.present(name):
            return Claim(
                confidence=case.confidence(name) * 0.95,
                severity="critical",
                summary=f"{LEADS[variant]}: {case.because(name)}.",
                rests_on=(name, *case.present("crash-looping", "engine-died", "recent-rollout")),
                variant=variant,
            )
    if case.absent("unknown-argument", "invalid-config"):
        return Cleared("no refused setting in the log")
    return Open("no log was given", case.missing(*names[:2]))


CAUSE = Cause("bad-config", "A setting stops the engine", 6, judge)

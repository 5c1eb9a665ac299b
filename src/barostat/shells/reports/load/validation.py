"""A validation as data and as JUnit; and the certificate that `check` asks for."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import quoteattr

from barostat.core.units import figure
from barostat.judge.load_test.knee import Knee
from barostat.judge.load_test.proof import Proof
from barostat.load.target import Target
from barostat.shells.reports.api_version import API_VERSION
from barostat.shells.reports.load.data import figures_json
from barostat.twin.summary import Slo

WORDS = {"pass": "PASS", "fail": "FAIL", "note": "note", "unknown": "?"}
SENTENCES = {
    "pass": "the engine meets its SLO at these limits",
    "fail": "these limits allow what the engine does not carry",
    "unknown": "nothing is proved: something could not be told",
}
OTHER_MODEL = "these limits are for another model than the engine serves; nothing was sent"
NO_LATENCY = (
    "all that these limits allow is answered; no service level is stated (spec.slo of the "
    "limits file), so no latency was judged"
)


@dataclass(frozen=True, slots=True)
class Validated:
    """One validation. `at`: ISO 8601, UTC; `digest`: of the limits (`lint.limits_digest`);
    `interrupted`: a person stopped it.
    """

    target: Target
    limits_file: str
    limits_name: str
    digest: str
    slo: Slo
    at: str
    proof: Proof
    interrupted: bool = False

    @property
    def sentence(self) -> str:
        """The verdict for a person: a level that nobody stated is not kept."""
        if not self.proof.phases and self.proof.verdict == "fail":
            return OTHER_MODEL
        unstated = self.slo.ttft_s is None and self.slo.itl_s is None
        return (
            NO_LATENCY
            if unstated and self.proof.verdict == "pass"
            else SENTENCES[self.proof.verdict]
        )


def certificate_text(found: Validated) -> str:
    """The certificate as JSON: the validation without what only a reader of the run needs."""
    document = {**validation_json(found), "kind": "LoadTestCertificate"}
    return json.dumps(document, indent=2) + "\n"


def validation_json(found: Validated) -> dict[str, Any]:
    """`kind: Validation` as plain data, keys in reading order."""
    target, proof = found.target, found.proof
    return {
        "apiVersion": API_VERSION,
        "kind": "Validation",
        "verdict": proof.verdict,
        "at": found.at,
        "target": target.where.base,
        "engine": {
            "version": target.version,
            "model": target.model,
            "maxModelLen": target.max_model_len,
            "flags": dict(target.flags),
        },
        "limits": {
            "file": found.limits_file.rsplit("/", 1)[-1],
            "name": found.limits_name,
            "digest": found.digest,
        },
        "slo": {"ttftP99Seconds": found.slo.ttft_s, "itlP99Seconds": found.slo.itl_s},
        "checks": [
            {"phase": one.phase, "name": one.name, "standing": one.standing, "told": one.told}
            for one in proof.checks
        ],
        "phases": [
            {"name": phase.name, **figures_json(phase.traffic, phase.found, found.slo)}
            for phase in proof.phases
        ],
        "knee": _knee_json(proof.knee) if proof.knee is not None else None,
        "notes": list(target.notes),
    }


def _knee_json(knee: Knee) -> dict[str, Any]:
    return {
        "heldPerSecond": knee.held_per_s,
        "lostPerSecond": knee.lost_per_s,
        "tried": [
            {
                "requestsPerSecond": one.per_s,
                "lost": one.lost or None,
                "unsure": one.unsure or None,
                "timesAsLong": one.times,
                "ttftP99Seconds": one.found.ttft.p99,
                "itlP99Seconds": one.found.itl.p99,
                "preemptions": one.found.engine.preemptions
                if one.found.engine is not None
                else None,
            }
            for one in knee.tried
        ],
    }


def knee_sentence(knee: Knee) -> str:
    """The knee for a person."""
    unsure = (
        f"at {figure(knee.unsure.per_s, 4)} requests/s {knee.unsure.unsure}"
        if knee.unsure is not None
        else ""
    )
    if knee.held_per_s is None and knee.lost_per_s is None:
        return f"cannot be told: {unsure}" if unsure else "nothing was tried to its end"
    if knee.held_per_s is None:
        sentence = f"no load held, down to {figure(knee.lost_per_s or 0, 4)} requests/s"
    elif knee.lost_per_s is None:
        return (
            f"at least {figure(knee.held_per_s, 4)} requests/s: "
            f"{unsure or 'nothing that was tried was too much'}"
        )
    else:
        sentence = (
            f"{figure(knee.held_per_s, 4)} requests/s hold, {figure(knee.lost_per_s, 4)} do not"
        )
    return f"{sentence}; {unsure}" if unsure else sentence


def junit(found: Validated) -> str:
    """A test case for each check."""
    checks = found.proof.checks
    failed, unknown = (
        sum(one.standing == standing for one in checks) for standing in ("fail", "unknown")
    )
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        (
            f'<testsuites><testsuite name="barostat validate" tests="{len(checks)}" '
            f'failures="{failed}" errors="{unknown}">'
        ),
    ]
    for one in checks:
        case = f"<testcase classname={quoteattr(one.phase)} name={quoteattr(one.name)}"
        if one.standing in ("fail", "unknown"):
            word = "failure" if one.standing == "fail" else "error"
            lines.append(f"{case}><{word} message={quoteattr(one.told)}/></testcase>")
        else:
            lines.append(f"{case}/>")
    return "\n".join([*lines, "</testsuite></testsuites>"]) + "\n"

"""The engine refused its command line: a flag that this version does not have, or a value it does
not accept.

Meaning: argparse ended the process with exit code 2 before anything was loaded. Mostly a flag that
was removed (swap-space from 0.18 on) or that a newer version brought.

Impact: the container crash-loops at once; in a rolling update the old pods keep serving.

Evidence: "error: unrecognized arguments" or argparse's complaint about a value.

Not evidence: a setting that was understood and then refused: invalid-config.

Mitigation: remove or rename the flag for this version; barostat diagnose names the line. Roll back
the deploy meanwhile.

Source: argparse; vLLM flag history 0.6 to 0.33 (swap-space, preemption-mode, num-scheduler-steps,
max-num-partial-prefills are gone).
"""

from __future__ import annotations

from barostat.symptoms._lines import symptom_of_counts

SYMPTOM = symptom_of_counts(
    "unknown-argument",
    "the command line was refused",
    ("log_unknown_argument",),
    seen="the command line was refused",
    none="the command line was accepted",
)

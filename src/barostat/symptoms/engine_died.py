"""The engine core ended or failed to start; the API server only reports it.

Meaning: the process that schedules and runs the model is gone. This line is the consequence: the
root cause is above it, in the core's or a worker's own lines.

Impact: every request in flight fails with 500, then the server exits and is restarted.

Evidence: "EngineCore encountered a fatal error", "Engine core initialization failed", "died
unexpectedly", EngineDeadError.

Not evidence: a full KV pool: it never kills the core. A clean shutdown (told-to-stop).

Mitigation: find the first error above it. Nothing to tune on this line alone.

Source: vLLM 0.8 to 0.33, EngineCoreProc, MPClient, AsyncLLM.
"""

from __future__ import annotations

from barostat.core.symptom import Harm
from barostat.symptoms._lines import symptom_of_counts

SYMPTOM = symptom_of_counts(
    "engine-died",
    "the engine core ended",
    ("log_engine_dead", "previous_log_engine_dead"),
    seen="the engine core ended",
    none="the engine core did not end",
    once=True,
    harm=Harm.DEATH,
)

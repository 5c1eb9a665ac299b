"""The process ended with an error that no known line explains.

Meaning: the last exception of the log is none of those known to mean memory, settings, model,
network or hardware: a fault in the engine or a library, most likely.

Impact: the replica did not start, or died.

Evidence: the last exception, quoted.

Not evidence: of KV pressure or of memory.

Mitigation: search the engine's issues for the exception; try the version that worked before.

Source: Python tracebacks in the engine's log.
"""

from __future__ import annotations

from barostat.core.symptom import Harm
from barostat.symptoms._lines import symptom_of_counts

SYMPTOM = symptom_of_counts(
    "unclassified-error",
    "ended with an unknown error",
    ("log_unclassified_error",),
    seen="ended with an error that is not in the list",
    none="no unexplained error",
    confidence=0.9,
    harm=Harm.DEATH,
)

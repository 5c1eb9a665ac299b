"""The engine answers 503 because its queue limits are reached.

Meaning: max_num_queued_reqs or max_num_queued_tokens is set and reached. This is protection at
work, and a sign that demand exceeds what this replica takes.

Impact: clients get 503 without a Retry-After; those that are admitted are served in time.

Evidence: admission_rejections_total (0.32 on), the log line "Request queue full" (0.29 to 0.31 at
info).

Not evidence: 503 from the gateway or the service (no endpoints). A limit that was never set: before
0.29 the queue has none.

Mitigation: spread the load or add replicas; retry with backoff at the gateway. Raise the limit only
if the wait stays within what users accept. The limits do not look at KV usage.

Source: vLLM 0.29 on, AsyncLLM admission; `vllm:admission_rejections_total{reason}`.
"""

from __future__ import annotations

from barostat.core.symptom import Harm
from barostat.symptoms._lines import symptom_of_counts

SYMPTOM = symptom_of_counts(
    "queue-rejections",
    "the engine turns requests away",
    ("rejections_in_window", "log_requests_rejected"),
    seen="the engine turned requests away: its queue limit is reached",
    none="no request was rejected",
    harm=Harm.PLAIN | Harm.UNHEALTHY | Harm.OF_THE_ENGINE,
)

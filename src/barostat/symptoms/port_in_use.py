"""Another process already listens on the port.

Meaning: the server could not bind: a second server in the same network namespace (hostNetwork, a
sidecar, an old process that did not end).

Impact: this server never listens; whoever answers on the port is another one.

Evidence: "address already in use" (errno 98).

Not evidence: a probe that fails for a wrong port number.

Mitigation: end the other process or choose another --port; avoid hostNetwork for engines.

Source: the socket's EADDRINUSE as uvicorn and vLLM print it.
"""

from __future__ import annotations

from barostat.symptoms._lines import symptom_of_counts

SYMPTOM = symptom_of_counts(
    "port-in-use",
    "the port is taken",
    ("log_port_in_use",),
    seen="the port is taken",
    none="the port was free",
)

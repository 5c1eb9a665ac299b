"""The model or its tokenizer cannot be had: missing, gated, or no way to the network.

Meaning: the repository or path does not exist, needs a token with access, or the pod cannot reach
it; or the architecture is not one this version knows.

Impact: the replica never becomes ready.

Evidence: 401, 403 or 404 from the hub, "does not appear to have a file named config.json",
connection errors while loading.

Not evidence: slow downloads (cold-start). A damaged file: another error, from the loader.

Mitigation: check the name and the mounted path, the token's access to the gated repository, egress
from the node; load from a volume or a local mirror.

Source: huggingface_hub and transformers errors as vLLM passes them on.
"""

from __future__ import annotations

from barostat.symptoms._lines import symptom_of_counts

SYMPTOM = symptom_of_counts(
    "model-not-found",
    "the model cannot be loaded",
    ("log_model_not_found",),
    seen="the model or its tokenizer cannot be had",
    none="the model was found",
)

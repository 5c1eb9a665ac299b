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

from barostat.core.symptom import Symptom
from barostat.core.verdict import Verdict
from barostat.core.window import Window
from barostat.symptoms._lines import counted

LINES = ("log_model_not_found",)


def judge(window: Window) -> Verdict:
    """Present if the model or tokenizer could not be had."""
    return counted(
        window, LINES, seen="the model or its tokenizer cannot be had", none="the model was found"
    )


SYMPTOM = Symptom(
    name="model-not-found", title="the model cannot be loaded", judge=judge, needs=LINES
)

"""The model can be had under the name that is given.

Meaning: the name is wrong, the repository is gated or private, the volume lacks the files, or there
is no way to the hub.
When: the log says that the model, its configuration or its tokenizer was not found or not allowed.
Not when: the model was loaded.
Undo: restore the former name.
Proof: the log shows the weights loading.
Source: Hugging Face hub errors (401, 403, 404, offline); vLLM ModelConfig.
"""

from __future__ import annotations

import re

from barostat.core.lever import Lever, NotApplicable, Proposal, Situation
from barostat.core.proposed_change import Advise
from barostat.core.prose import Prose
from barostat.core.visible import cut
from barostat.levers._readings import detail_of

NAME = "model-path"


def propose(situation: Situation) -> Proposal | NotApplicable:
    """The kind of failure that the line tells, with the line to change."""
    window = situation.window
    if situation.variant != "model":
        return NotApplicable(NAME, Prose("the model was found"))
    line = detail_of(window, "log_model_not_found")
    found = window.config.get("model")
    model = str(found.value) if found is not None else "the model"
    if re.search(r"40[13] Client|[Gg]ated|Unauthorized|Forbidden", line):
        change = "env: [{name: HF_TOKEN, valueFrom: {secretKeyRef: {name: <secret>, key: token}}}]"
        return Proposal(
            NAME,
            Advise(Prose(change)),
            Prose(f"{model} is gated or private, and the engine has no token that may read it"),
            True,
            20,
        )
    if re.search(r"onnect|imed out|resolve|offline|Max retries|outgoing traffic", line):
        change = f"mount the files of {model} into the pod and serve that path (HF_HUB_OFFLINE=1)"
        return Proposal(
            NAME, Advise(Prose(change)), Prose("the engine cannot reach the hub"), True, 20
        )
    if re.search(r"architecture|not recognize|not supported", line):
        return Proposal(
            NAME,
            Advise(Prose(f"use a vLLM that supports {model}")),
            Prose("this version does not know the model's architecture"),
            True,
            20,
        )
    if re.search(r"deserializing header|SafetensorError", line):
        change = (
            f"delete the files of {model} and fetch them anew, all of them and no Git LFS pointers"
        )
        return Proposal(
            NAME,
            Advise(Prose(change)),
            Prose(f"a file of weights is damaged or not complete: {cut(line, 140)}"),
            True,
            20,
        )
    if re.search(r"redentials|runai_response", line):
        change = (
            f"give the pod an account that may read {model} in the object store (its secret, "
            "or its service account's role)"
        )
        return Proposal(NAME, Advise(Prose(change)), Prose(cut(line, 140)), True, 20)
    return Proposal(
        NAME,
        Advise(Prose(f"correct the model name or path ({model})")),
        Prose(f"it was not found: {cut(line, 140)}" if line else "it was not found"),
        True,
        20,
    )


LEVER = Lever(NAME, Prose("a model that can be had"), "manifest", ("bad-config",), propose)

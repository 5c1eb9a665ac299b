"""The API server's process is at its limit, and what it does is turn long prompts into tokens.

Meaning: text becomes tokens in the API server's process. Huge prompts as text, chat templates over
long histories, or images to prepare keep it busy before the engine sees anything.

Impact: time to first token grows; the engine's own queue and prefill times stay short.

Evidence: a saturated API server, long prompts, far more prompt tokens than generated ones, an
engine with slack.

Not evidence: long prompts alone: then prefill-budget-saturated is the likelier limit.

Mitigation: --api-server-count; a fast tokenizer (not the slow Python one); send token ids instead
of text; cap prompt length at the edge; for images, more CPU.

Source: vLLM V1 input processing in AsyncLLM; reports of multimodal preprocessing bound by CPU
limits.
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Absent, Present, Unknown, Verdict
from barostat.core.window import Window
from barostat.symptoms._holding import recent_mean
from barostat.symptoms._host import engine_has_slack, server_confidence

LONG_PROMPT_TOKENS = 1000
"""Below this a prompt is tokenized in well under a millisecond or two."""
PROMPT_HEAVY_RATIO = 20.0
"""This many prompt tokens per generated token: streaming is not what keeps the process busy."""
LENGTHS = ("prompt_tokens_p50", "prompt_tokens_mean")


def judge(window: Window) -> Verdict:
    """Present if the API server is saturated by long prompts."""
    api = window["api_server_cpu_cores"]
    length = window.fresh("prompt_tokens_p50") or window.fresh("prompt_tokens_mean")
    prompt, generated = window.fresh("prompt_tokens_per_s"), window.fresh("generation_tokens_per_s")
    evidence = tuple(
        signal.evidence(window.at)
        for signal in (api, length, prompt, generated)
        if signal is not None
    )
    slack = engine_has_slack(window)
    confidence = server_confidence(window, api, slack)
    if confidence is None:
        return Absent(
            f"the API server uses {recent_mean(api):.2f} cores: it has room to tokenize", evidence
        )
    if slack is False:
        return Absent("requests queue in the engine itself: tokenizing keeps up", evidence)
    if length is None:
        return Unknown("the API server is saturated; prompt lengths were not measured", LENGTHS)
    streams = (
        prompt is not None
        and generated is not None
        and prompt.mean < PROMPT_HEAVY_RATIO * generated.mean
    )
    if length.last < LONG_PROMPT_TOKENS or streams:
        return Absent(
            f"prompts of {length.last:.0f} tokens: it is not tokenizing that keeps the server busy",
            evidence,
        )
    because = (
        f"the API server uses {recent_mean(api):.2f} cores on prompts of {length.last:.0f} "
        "tokens while the engine has room"
    )
    return Present(because, evidence, min(confidence, 0.85))


SYMPTOM = Symptom(
    name="tokenizer-bound",
    title="tokenizing is the limit",
    judge=judge,
    needs=("api_server_cpu_cores",),
)

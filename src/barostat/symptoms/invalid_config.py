"""The engine understood its settings and refused a value or a combination of them.

Meaning: validation failed before serving: a tensor-parallel size that does not divide the heads or
the vocabulary, a token budget below max_num_seqs, a dtype the card lacks, an unsupported
combination.

Impact: the replica never becomes ready.

Evidence: the ValueError, AssertionError or pydantic message with the setting's name; a start that
waits for cards of its Ray cluster, or that took longer than the server waits for its engine.

Not evidence: memory that is too small for a valid setting: model-too-long, no-cache-blocks.

Mitigation: change the one setting that the message names.

Source: vLLM EngineArgs.create_engine_config, VllmConfig and SchedulerConfig validation.
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Verdict
from barostat.core.window import Window
from barostat.symptoms._lines import counted

LINES = ("log_invalid_config",)
WAITED = (
    ("Timed out waiting for engine", "the start took longer than the server waits for its engine"),
    ("placement group of specs", "the start waits for cards of its Ray cluster"),
)
WAITED_CONFIDENCE = 0.75
"""Why it took so long is another question: slow storage, or a rank that hangs."""


def judge(window: Window) -> Verdict:
    """Present if a value or a combination was refused, or what was asked for did not come in
    time.
    """
    said = window["log_invalid_config"].detail
    for words, seen in WAITED:
        if words in said:
            return counted(
                window, LINES, seen=seen, none="", confidence=WAITED_CONFIDENCE, once=True
            )
    return counted(window, LINES, seen="a setting was refused", none="no setting was refused")


SYMPTOM = Symptom(name="invalid-config", title="a setting was refused", judge=judge, needs=LINES)

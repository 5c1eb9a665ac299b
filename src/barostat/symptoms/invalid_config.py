"""The engine understood its settings and refused a value or a combination of them.

Meaning: validation failed before serving: a tensor-parallel size that does not divide the heads or the vocabulary, a
token budget below max_num_seqs, a dtype the card lacks, an unsupported combination.

Impact: the replica never becomes ready.

Evidence: the ValueError, AssertionError or pydantic message with the setting's name.

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


def judge(window: Window) -> Verdict:
    """Present if a value or a combination was refused."""
    return counted(window, LINES, seen="a setting was refused", none="no setting was refused")


SYMPTOM = Symptom(name="invalid-config", title="a setting was refused", judge=judge, needs=LINES)

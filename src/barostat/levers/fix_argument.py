"""Every argument has a value that this engine takes.

Meaning: a value is out of range, two settings contradict each other, or a port is taken.
When: the log says that a setting was refused, or the resolved configuration contradicts itself.
Not when: the argument is unknown as a whole (remove it), or the model cannot be had.
Undo: restore the former value.
Proof: the engine gets past its arguments and listens.
Source: vLLM 0.32.0 SchedulerConfig (max_num_batched_tokens at least max_num_seqs), ParallelConfig.
"""

from __future__ import annotations

import re

from barostat.core.lever import Lever, NotApplicable, Proposal, Situation
from barostat.levers._readings import count, detail_of, number_in

NAME = "fix-argument"


def propose(situation: Situation) -> Proposal | NotApplicable:
    """The value that fits where the line tells it; else the line itself."""
    window = situation.window
    if situation.variant not in ("argument", ""):
        return NotApplicable(NAME, "no value of an argument was refused")
    if port := detail_of(window, "log_port_in_use"):
        now = int(number_in(r"\bport:? (\d+)", port) or window.config.number("port") or 8000)
        return Proposal(NAME, f"--port {now + 1}", f"port {now} is taken by another process", True, 20)
    sure = all(found is not None and found.certain for found in map(window.config.get, ("max_num_seqs", "max_num_batched_tokens")))
    seqs, budget = (window.config.number(name) if sure else None for name in ("max_num_seqs", "max_num_batched_tokens"))
    if seqs is not None and budget is not None and budget < seqs:
        why = f"it is {count(budget)} and must be at least max_num_seqs, {count(seqs)}"
        return Proposal(NAME, f"--max-num-batched-tokens {max(2048, int(seqs))}", why, True, 20)
    line = detail_of(window, "log_invalid_config", "log_unknown_argument")
    if not line or "unrecognized arguments" in line:
        return NotApplicable(NAME, "the log does not quote a refused value")
    if "appears to be a URI" in line:
        why = "a Service named vllm gives its pods VLLM_PORT=tcp://..., which is vLLM's own variable; or give the Service another name"
        return Proposal(NAME, "spec.template.spec.enableServiceLinks: false", why, True, 20)
    length = number_in(r"derived max_model_len \([^)]*?(\d+)", line) or number_in(r"max_position_embeddings=(\d+)", line)
    if length is not None and "max_model_len" in line:
        return Proposal(NAME, f"--max-model-len {length:.0f}", f"the model's own length is {count(length)}", True, 20)
    if (parallel := _fitting_parallel_size(line)) is not None:
        return parallel
    argument = re.search(r"argument (--[\w-]+)", line)
    named = argument[1] if argument else "the setting"
    return Proposal(
        NAME, f"correct {named}: {line.strip()[:160]}", "the engine refused this value, and says why in the line quoted", True, 21
    )


_INDIVISIBLE = re.compile(
    r"(\d{1,9})\)?,? (?:is not|must be|should be) (?:evenly )?divisible by (?:the )?"
    r"(?:tensor[ _-](?:model[ _-])?parallel[ _-]size )?\(?(\d{1,9})"
)


def _fitting_parallel_size(line: str) -> Proposal | None:
    """The next smaller tensor-parallel size that divides what has to be divided, where that is what the line says."""
    match = _INDIVISIBLE.search(line)
    if match is None:
        return None
    whole, size = int(match[1]), int(match[2])
    fits = [candidate for candidate in (16, 8, 4, 2, 1) if candidate < size and whole % candidate == 0]
    if not fits:
        return None
    return Proposal(NAME, f"--tensor-parallel-size {fits[0]}", f"{whole} cannot be divided by {size}", True, 20)


LEVER = Lever(NAME, "correct a refused value", "manifest", ("bad-config",), propose)

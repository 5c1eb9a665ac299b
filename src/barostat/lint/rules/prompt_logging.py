"""Requests written to the log.

Meaning: `--enable-log-requests` writes every request (its parameters, and its prompt at a higher
log level or in older versions), `--enable-log-outputs` what was answered too.
Impact: users' text lies in the log store, for as long as logs are kept and for everybody who reads
them; and a busy API server writes it.

Bad:

    vllm serve Qwen/Qwen3-8B --enable-log-requests --enable-log-outputs

Good:

    vllm serve Qwen/Qwen3-8B

Fix: take it out, or log at a gateway that redacts.
Source: vLLM 0.32.0 entrypoints/logger.py (RequestLogger).
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.edits import without_argument
from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every switch that writes requests or answers to the log."""
    for engine in scene.engines:
        for name, what in (("enable_log_requests", "requests"), ("enable_log_outputs", "answers")):
            argument = engine.arguments.get(name)
            if argument is not None and argument.value is True:
                yield Found(
                    argument.place,
                    f"--{name.replace('_', '-')} writes users' {what} to the log",
                    f"remove --{name.replace('_', '-')}",
                    without_argument(scene, argument),
                )


RULE = Rule("prompt-logging", "users' text in the log", judge, "warning")

"""Automatic tool choice without a parser.

Meaning: --enable-auto-tool-choice needs --tool-call-parser, which reads the model's own notation of
a call.
Impact: "--enable-auto-tool-choice requires --tool-call-parser", and the server exits.

Bad:

    vllm serve Qwen/Qwen3-8B --enable-auto-tool-choice

Good:

    vllm serve Qwen/Qwen3-8B --enable-auto-tool-choice --tool-call-parser hermes

Fix: --tool-call-parser with the model's parser (hermes, llama3_json, mistral, ...).
Source: vLLM 0.32.0 entrypoints cli_args.validate_parsed_serve_args.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine with the one and certainly without the other."""
    for engine in scene.engines:
        given = engine.arguments.get("enable_auto_tool_choice")
        if (
            given is None
            or given.value is False
            or engine.has("tool_call_parser")
            or not engine.complete
        ):
            continue
        yield Found(
            given.place,
            "--enable-auto-tool-choice requires --tool-call-parser: vLLM refuses to start",
            "--tool-call-parser with the model's parser, or remove it",
        )


RULE = Rule("tool-choice-without-parser", "tool choice without a parser", judge, "error")

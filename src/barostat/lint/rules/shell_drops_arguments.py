"""Words behind the script of `sh -c`, which the shell does not run.

Meaning: `sh -c` runs one word, its script. The words behind it become the script's parameters ($0,
$1, ...), and this script uses none of them. Compose splits a `command` that is one string into
words, so beside `entrypoint: ["sh", "-c"]` the script is its first word alone; Kubernetes appends
each item of `args` as a word.
Impact: `vllm` starts without arguments, prints its help and exits; or the server starts with its
defaults.

Bad:

    services:
      vllm:
        image: vllm/vllm-openai:v0.32.0
        entrypoint: ["/bin/sh", "-c"]
        command: vllm serve Qwen/Qwen3-8B --max-model-len 8192

Good:

    services:
      vllm:
        image: vllm/vllm-openai:v0.32.0
        entrypoint: ["/bin/sh", "-c"]
        command: ["vllm serve Qwen/Qwen3-8B --max-model-len 8192"]

Fix: the whole command as one item of a list.
Source: POSIX, sh (option -c); the Compose specification, `command`; core/v1 Container (args).
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine whose arguments a shell drops."""
    for engine in scene.engines:
        if engine.dropped is not None:
            yield Found(
                engine.dropped.place,
                f"the shell runs {engine.dropped.text.strip()[:60]!r} alone: the words behind the "
                "script of -c are its parameters, which it does not use",
                "the whole command as one item of the list",
            )


RULE = Rule("shell-drops-arguments", "words that sh -c does not run", judge, "error")

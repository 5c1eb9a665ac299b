r"""A blank behind the backslash that was to continue the line.

Meaning: a backslash continues a line only as its last character. With a blank behind it the shell
hands that blank to the server, and the command ends there; the lines below are commands of their
own.
Impact: "unrecognized arguments", and the server does not start; the shell then looks for a program
called `--max-model-len`.

Bad:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      command: [sh, -c], args: ["vllm serve Qwen/Qwen3-8B \\ \n  --max-model-len 4096"]}]}}

Good:

    {kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image:
    "vllm/vllm-openai:v0.32.0",
      command: [sh, -c], args: ["vllm serve Qwen/Qwen3-8B \\\n  --max-model-len 4096"]}]}}

Fix: take the blank out.
Source: POSIX Shell Command Language, 2.2.1 Escape Character.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every command that ends in an escaped blank."""
    for engine in scene.engines:
        if engine.cut is not None:
            yield Found(
                engine.cut,
                "a blank stands behind the backslash: the command ends here, and vLLM "
                "refuses the blank",
                "take out the blank at the end of the line",
            )


RULE = Rule(
    "line-not-continued", "a blank behind the backslash of a line that was to go on", judge, "error"
)

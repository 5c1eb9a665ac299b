"""An argument of vLLM as a variable that vLLM does not read.

Meaning: vLLM takes its settings from arguments; its variables are others. A variable that is an
argument's name behind VLLM_ (VLLM_MAX_MODEL_LEN) is none of them. Images of others may read such
variables; vLLM's own does not.
Impact: the engine runs with its defaults, and its log says "Unknown vLLM environment variable
detected".

Bad:

    services:
      vllm:
        image: vllm/vllm-openai:v0.32.0
        command: ["--model", "Qwen/Qwen3-8B"]
        environment: {VLLM_MAX_MODEL_LEN: "8192"}

Good:

    services:
      vllm:
        image: vllm/vllm-openai:v0.32.0
        command: ["--model", "Qwen/Qwen3-8B", "--max-model-len", "8192"]

Fix: the argument in the command.
Source: vLLM 0.32.0 envs.environment_variables, Platform.validate_environ.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from barostat.catalog.settings.table import SETTINGS
from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule
from barostat.lint.rules._images import starts_itself

_READ = frozenset(("VLLM_PORT", "VLLM_API_KEY"))
"""Variables of vLLM whose names are those of arguments."""


def judge(scene: Scene) -> Iterator[Found]:
    """Every such variable of vLLM's own image that nothing in its file refers to."""
    for engine in scene.engines:
        if engine.image is None or not starts_itself(engine.image.text):
            continue
        for name, given in engine.env.items():
            setting = SETTINGS.get(name.removeprefix("VLLM_").lower())
            if not name.startswith("VLLM_") or name in _READ or setting is None:
                continue
            text = scene.text_of(given.place.file) or ""
            if re.search(rf"\$[({{]?{name}\b", text):
                continue
            also = engine.has(setting.name)
            yield Found(
                given.place,
                f"vLLM does not read {name}"
                + (f": {setting.option} counts" if also else f": {setting.option} stays as it is"),
                f"{setting.option} in the command" if not also else f"remove {name}",
                severity="note" if also else None,
            )


RULE = Rule("argument-as-variable", "an argument that is given as a variable", judge, "warning")

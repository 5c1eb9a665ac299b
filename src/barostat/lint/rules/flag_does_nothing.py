"""An argument that this version accepts and ignores.

Meaning: vLLM's second engine generation (the default since 0.8.0) kept arguments of the first for a
while without reading them: `--swap-space` until 0.17, `--max-num-partial-prefills` until 0.26,
`--num-scheduler-steps`, `--preemption-mode`. And every version reads the file of `--config FILE`
and not that of `--config=FILE`: it looks for `--config` as a word of its own.
Impact: an expected protection is missing; and the argument becomes an unknown one with a later
upgrade. Without its file the server starts with none of its settings, with another model too.

Bad:

    docker run vllm/vllm-openai:v0.10.2 --model Qwen/Qwen3-8B --swap-space 16

Good:

    docker run vllm/vllm-openai:v0.10.2 --model Qwen/Qwen3-8B

Fix: take it out. Against preemption: fewer requests at once, a larger pool, `--kv-offloading-size`
as a second tier of the prefix cache.
Source: vLLM 0.8.0 to 0.26.0, v1/core/sched/scheduler.py, v1/engine/core.py (num_cpu_blocks is 0);
0.9.2 to 0.32.0, FlexibleArgumentParser.parse_args ("--config" in args).
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.catalog.settings.table import SETTINGS, known_flag
from barostat.catalog.vllm_behaviours import behaves
from barostat.lint.edits import without_argument
from barostat.lint.facts import Engine, Scene
from barostat.lint.rule import Found, Rule

_V0_ONLY = {
    "swap_space": "preempted requests are recomputed, never swapped",
    "max_num_partial_prefills": "only the scheduler of the first generation read it",
    "max_long_partial_prefills": "only the scheduler of the first generation read it",
    "preemption_mode": "there is one way to preempt, and that is to recompute",
    "scheduler_delay_factor": "only the scheduler of the first generation read it",
    "num_scheduler_steps": "only the first generation ran several steps at once",
    "use_v2_block_manager": "there is one block manager",
}


def judge(scene: Scene) -> Iterator[Found]:
    """Every argument that the version has and does not read."""
    for engine in scene.engines:
        yield from _file_not_read(engine)
        if not behaves("v1-default", engine.version) or _first_generation(engine):
            continue
        for name, why in _V0_ONLY.items():
            argument = engine.arguments.get(name)
            if (
                argument is not None
                and known_flag(name, engine.version) == "present"
                and argument.text not in ("0", "0.0")
            ):
                yield Found(
                    argument.place,
                    f"{SETTINGS[name].option} does nothing in vLLM {engine.version}: {why}",
                    f"remove {SETTINGS[name].option}",
                    without_argument(scene, argument),
                    "certain",
                )


def _file_not_read(engine: Engine) -> Iterator[Found]:
    config = engine.arguments.get("config")
    if config is not None and config.joined and config.origin == "flag":
        yield Found(
            config.place,
            "vLLM does not read the file of --config=FILE: it starts with none of the "
            "settings in it",
            "--config and the file as two words",
            severity="error",
        )


def _first_generation(engine: Engine) -> bool:
    given = engine.env.get("VLLM_USE_V1")
    return (
        given is not None and given.text == "0" and behaves("v0-possible", engine.version) is True
    )


RULE = Rule("flag-does-nothing", "an argument that this version ignores", judge, "warning")

"""The run-book: what a card is asked, a few of each kind first, so that a run that is cut off is
already worth something.

`minutes` are those of an H100 with warm files; as soon as something is finished, its own time tells
of the others of its kind. On the CPU build and on the twin the same kinds are gone through with the
shapes of dev/engine.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dev.demo_real import NAME as DEMO_STATE
from dev.gpu.demonstration import Demo
from dev.gpu.forecast import Applied, Today
from dev.gpu.here import Here
from dev.gpu.item import Item
from dev.gpu.journal import Journal
from dev.gpu.pace import Pace, Point
from dev.gpu.startup import StartUp, planned_for, stated_row
from dev.gpu.state import Starved, State
from dev.load import Load
from dev.scenarios import Scenario, scenario

from barostat.core.units import GIB
from barostat.judge.sizing.planned_steps import steps_of_plan
from barostat.kv.step_time.model import StepLoad

SERVED = ("Qwen/Qwen3-8B", "Qwen/Qwen3-4B", "Qwen/Qwen3-1.7B", "Qwen/Qwen3-0.6B")
"""What states, step times and forecasts are measured on: the first that fits and whose steps are
short enough for the scenarios.
"""
LONGEST_STEP_S = 0.035
LARGE = (
    "Qwen/Qwen2.5-32B-Instruct",
    "meta-llama/Llama-3.1-70B-Instruct",
    "meta-llama/Meta-Llama-3.1-405B",
)
"""What does not fit: the first whose weights are larger than the card."""
TEXT_ONLY = {"limit_mm_per_prompt": '{"image":0,"video":0}'}
POOL_OF_PACE = {
    "gpu_memory_utilization": 0.95,
    "max_num_seqs": 1024,
    "max_num_batched_tokens": 8192,
}
EAGER: dict[str, Any] = {"enforce_eager": True}


def book(here: Here, journal: Journal) -> tuple[Item, ...]:
    """What is measured here, in this order."""
    return _of_card(here, journal) if here.kind == "card" else _in_short(here)


def _of_card(here: Here, journal: Journal) -> tuple[Item, ...]:
    model = served(here, journal)
    on_it = _OnOneModel(model, 1.2, EAGER)

    def start(name: str, of: str = model, minutes: float = 0.6, **settings: Any) -> StartUp:
        return StartUp(name=name, minutes=minutes, model=of, settings=settings)

    return (
        start("default", minutes=1.3),
        start("eager", **EAGER),
        on_it.state("kv-preemption-thrash"),
        Pace(
            name="pace", minutes=2.4, model=model, settings={"max_model_len": 6144, **POOL_OF_PACE},
            points=(Point(1, 128, 128), Point(8, 1024, 128), Point(32, 1024, 128), Point(64, 256, 128), Point(16, 4096, 64, waves=5)),
        ),
        _too_large(here, journal),
        on_it.state("few-large-half-empty"),
        on_it.today(1.8),
        on_it.applied("forecast-first", 0, 1.4),
        on_it.demo(1.2),
        start("moe", "openai/gpt-oss-20b", 0.8, **EAGER),
        start("fp8-kv", kv_cache_dtype="fp8", **EAGER),
        start("mla", "deepseek-ai/DeepSeek-V2-Lite", 0.7, **EAGER),
        on_it.state("slot-bound", 1.0),
        start("windows", "google/gemma-2-9b", 0.7, **EAGER),
        start("fp8-weights", quantization="fp8", **EAGER),
        on_it.starved(),
        start("hybrid", "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", 0.9, **EAGER),
        start("budget-32768", max_num_batched_tokens=32768, **EAGER),
        on_it.applied("forecast-second", 1, 1.4),
        _no_room(model, here, journal),
        on_it.failing("kv-pool-too-small", 0.5, "length"),
        start("short-and-few", minutes=1.0, gpu_memory_utilization=0.95, max_num_batched_tokens=2048, max_num_seqs=64, max_model_len=8192),
        on_it.state("healthy-busy", 1.2),
        start("tower-as-text", "Qwen/Qwen3-VL-8B-Instruct", 0.7, max_model_len=32768, other_flags=TEXT_ONLY, **EAGER),
        start("smallest", "Qwen/Qwen3-0.6B", 0.7),
        start("two-cards", minutes=1.3, tp=2, **EAGER),
        Pace(
            name="pace-two-cards", minutes=2.6, model=model, settings={"max_model_len": 6144, "tp": 2, **POOL_OF_PACE},
            points=(Point(1, 128, 128), Point(32, 1024, 128), Point(64, 256, 128)),
        ),
    )  # fmt: skip


def _in_short(here: Here) -> tuple[Item, ...]:
    """Every kind of item once or twice."""
    length: dict[str, Any] = {"block_size": 128, "max_model_len": 4096}
    starting = 0.8 if here.kind == "cpu" else 0.1
    on_it = _OnOneModel("small", starting + 0.7, {})
    return (
        StartUp(name="default", minutes=starting, model="tiny", settings=length),
        on_it.state("kv-preemption-thrash"),
        Pace(
            name="pace", minutes=starting + 0.5, model="small", settings={"max_num_seqs": 64, **length},
            points=(Point(1, 64, 32, waves=4), Point(8, 512, 64, waves=3)),
        ),
        StartUp(name="pool-too-small", minutes=starting, model="tiny", settings={**length, "other_flags": {"num_gpu_blocks_override": 16}}),
        on_it.failing("kv-pool-too-small", starting, "length"),
        on_it.today(starting + 2.0),
        on_it.applied("forecast-first", 0, starting + 1.2),
        on_it.demo(starting + 0.7),
        on_it.state("slot-bound"),
        on_it.state("few-large-half-empty"),
        on_it.starved(),
        on_it.applied("forecast-second", 1, starting + 1.2),
    )  # fmt: skip


class _OnOneModel:
    """The items that are about load: all on one model. `minutes`: of a state; `settings`: of every
    start.
    """

    def __init__(self, model: str, minutes: float, settings: dict[str, Any]) -> None:
        self.model, self.minutes, self.settings = model, minutes, settings

    def state(self, name: str, minutes: float = 0.0) -> State:
        """A scenario of dev/scenarios.py."""
        return State(
            name=name,
            minutes=minutes or self.minutes,
            model=self.model,
            settings=self.settings,
            scenario=scenario(name),
        )

    def failing(self, name: str, minutes: float, variant: str) -> State:
        """One that never listens."""
        return replace(self.state(name, minutes), variant=variant)

    def starved(self) -> State:
        """Memory is gone while it serves."""
        why = (
            "another process has taken what the pool leaves, and long prompts with their "
            "log-probabilities need some of it"
        )
        load = Load(clients=8, prompt_tokens=(3000, 3800), output_tokens=(8, 16), prompt_logprobs=1)
        starved = Scenario(
            "gpu-oom-serving",
            "gpu-oom",
            why,
            ("--max-model-len", "4096", "--max-num-batched-tokens", "8192"),
            load,
        )
        return Starved(
            name="gpu-oom-serving", minutes=self.minutes, model=self.model, settings=self.settings, scenario=starved, variant="serving"
        )  # fmt: skip

    def today(self, minutes: float) -> Today:
        """The thrash, its forecast and its proposals."""
        return Today(
            name="forecast-today",
            minutes=minutes,
            model=self.model,
            settings=self.settings,
            scenario=scenario(DEMO_STATE),
        )

    def applied(self, name: str, place: int, minutes: float) -> Applied:
        """A proposal tried."""
        return Applied(
            name=name, minutes=minutes, model=self.model, settings=self.settings, scenario=scenario(DEMO_STATE), place=place,
            after="forecast-today",
        )  # fmt: skip

    def demo(self, minutes: float) -> Demo:
        """The thrash shown."""
        return Demo(
            name="demo",
            minutes=minutes,
            model=self.model,
            settings=self.settings,
            scenario=scenario(DEMO_STATE),
        )


def served(here: Here, journal: Journal) -> str:
    """The model that is measured under load."""
    for model in SERVED:
        found = planned_for(stated_row("served", model, EAGER, here), here, journal)
        if isinstance(found, str) or not found.fits:
            continue
        steps = steps_of_plan(found)
        if (
            steps is None
            or steps.step_s(StepLoad(decodes=20, cached_tokens=8000)) <= LONGEST_STEP_S
        ):
            return model
    return SERVED[-1]


def _too_large(here: Here, journal: Journal) -> Item:
    """A start whose weights alone are more than the card has."""
    memory = (here.memory_gib or 0.0) * GIB
    plans = {
        model: planned_for(stated_row("large", model, EAGER, here), here, journal)
        for model in LARGE
    }
    larger = [
        model
        for model, found in plans.items()
        if not isinstance(found, str) and found.weights_bytes > 1.1 * memory
    ]
    why = "the weights are larger than the card: an allocation fails while the model is made"
    one = Scenario("gpu-oom-startup", "gpu-oom", why, (), listens=False)
    return _Unfitting(
        name="gpu-oom-startup", minutes=0.5, model=(larger or [LARGE[-1]])[0], settings=EAGER, scenario=one, variant="startup"
    )  # fmt: skip


def _no_room(model: str, here: Here, journal: Journal) -> Item:
    """A start whose weights fit, and whose share of the memory is no more than they take."""
    found = planned_for(stated_row("no-room", model, EAGER, here), here, journal)
    share = (
        0.2
        if isinstance(found, str) or found.total is None
        else max(0.02, round(found.weights_bytes / found.total.value, 2))
    )
    why = (
        "the share of the memory that the engine may take is what its weights take: no block "
        "is left"
    )
    one = Scenario("kv-pool-too-small-no-blocks", "kv-pool-too-small", why, (), listens=False)
    settings = {**EAGER, "gpu_memory_utilization": share}
    return _Unfitting(
        name="kv-pool-too-small-no-blocks",
        minutes=0.6,
        model=model,
        settings=settings,
        scenario=one,
        variant="no-blocks",
    )


class _Unfitting(State):
    """A start that is to fail for want of memory."""

    must_fit = False

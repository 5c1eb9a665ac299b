"""How long a step takes as a step model has it: for engines that were not measured."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from barostat.kv.step_time.doubt import Doubt
from barostat.kv.step_time.model import StepLoad, StepTimeModel
from barostat.twin.linear_pace import LinearPace

_NS = 1e9
# The load at which a line is laid along the model, and at which a client's wait beyond the steps is
# taken.
_DECODES, _CONTEXT_TOKENS, _PROMPT_TOKENS = 16, 1024, 1024


@dataclass(frozen=True, slots=True)
class ModelledPace:
    """A step takes what the model says. `doubt`: how far it may be off. `scale`: every step takes
    that many times as long.

    What does not depend on the cache is kept for each number of prompt tokens and requests: a run
    asks for the same ones over and over.
    """

    model: StepTimeModel
    doubt: Doubt
    about: str
    scale: float = 1.0
    _rest: dict[tuple[int, int], float] = field(default_factory=dict, compare=False, repr=False)

    def step_ns(self, prefill_tokens: int, decodes: int, kv_tokens: int, pairs: int = 0) -> int:
        """The duration of such a step; prompts are taken to be one in each step that computes
        any.
        """
        rest_s = self._rest.get((prefill_tokens, decodes))
        if rest_s is None:
            load = StepLoad(prefill_tokens, decodes, prompts=1.0 if prefill_tokens else 0.0)
            rest_s = self._rest[prefill_tokens, decodes] = self.model.rest_s(load)
        attention_s = self.model.attention_s(prefill_tokens, decodes, kv_tokens, pairs)
        return max(1, round((rest_s + attention_s) * self.scale * _NS))

    def start_ns(self, arrival_ns: int) -> int:
        """An idle engine starts at once."""
        return arrival_ns

    @property
    def empty_ns(self) -> int:
        """A step without work takes no time of its own."""
        return 0

    @property
    def error_ratio(self) -> float:
        """One standard deviation of a step's duration over it."""
        return self.doubt.ratio

    @property
    def front_s(self) -> float:
        """Client wait outside steps, in seconds, for a prompt of usual length."""
        return (
            self.model.front_s(_PROMPT_TOKENS)
            + self.model.delivery_steps * self.model.step_s(_usual())
        ) * self.scale

    @property
    def source(self) -> str:
        """Source of the pace and its uncertainty, for reports."""
        wider = "".join(f"; {why}" for why in self.doubt.because)
        return (
            f"a step model of {self.about}, fitted to measured engines, {self.error_ratio:.0%} "
            f"either way{wider}"
        )

    def scaled(self, factor: float) -> ModelledPace:
        """Every step takes that many times as long: an end of the interval of a forecast."""
        return replace(self, scale=self.scale * factor, _rest=self._rest)

    def line(self) -> LinearPace:
        """The line along the model at a usual load: how a step's time divides there."""
        usual = _usual()
        whole_s = self.model.step_s(usual)
        prefill_s = (
            self.model.step_s(replace(usual, prompt_tokens=_PROMPT_TOKENS, prompts=1)) - whole_s
        ) / _PROMPT_TOKENS
        twice = replace(usual, decodes=2 * _DECODES)
        decode_s = max(0.0, (self.model.step_s(twice) - whole_s) / _DECODES)
        kv_s = (
            self.model.step_s(replace(usual, cached_tokens=2 * usual.cached_tokens)) - whole_s
        ) / usual.cached_tokens
        base_s = max(0.05 * whole_s, whole_s - decode_s * _DECODES - kv_s * usual.cached_tokens)
        found = LinearPace(base_s, prefill_s, decode_s, kv_s, self.error_ratio, self.source)
        return found.scaled(self.scale)


def _usual() -> StepLoad:
    return StepLoad(decodes=_DECODES, cached_tokens=_DECODES * _CONTEXT_TOKENS)

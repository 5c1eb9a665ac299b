"""The uncertainty of a predicted step time: the error on held-out points, growing with the distance
from the measured configurations.

Each kind of deviation adds an independent share, so their squares add up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from barostat.catalog.cards import Card
from barostat.catalog.step_speeds import MEASURED_CARDS, SIMILAR_CARDS
from barostat.kv.architecture import Architecture, Compressed, Indexer
from barostat.kv.deployment import Deployment
from barostat.kv.step_time.model import StepLoad

# One standard deviation of the log error where the model and card were left out of the fit:
# docs/decisions/step-time.md.
LEFT_OUT_RATIO = 0.16
# What is not in the points is assumed, not measured: another card of the same generation, one of
# another, one of another make.
_SIMILAR_CARD, _OTHER_CARD, _OTHER_MAKE = 0.1, 0.25, 0.4
_STATES, _SPARSE, _STAGES, _NODES, _SLOW_LINK, _DRAFTS = 0.15, 0.2, 0.15, 0.5, 0.3, 0.3
_MOST_RANKS, _MOST_REQUESTS, _LONGEST_CONTEXT, _MOST_PROMPT_TOKENS = 8, 512, 9216, 8192
_PER_DOUBLING = 0.1


@dataclass(frozen=True, slots=True)
class Doubt:
    """One standard deviation of a prediction over the prediction, and what makes it larger than it
    is for what was measured.
    """

    ratio: float
    because: tuple[str, ...] = ()

    def at(self, load: StepLoad) -> Doubt:
        """The same for a step of this load."""
        each = load.cached_tokens / load.decodes if load.decodes else 0.0
        beyond = (
            (load.decodes, _MOST_REQUESTS, "requests in a step"), (each, _LONGEST_CONTEXT, "tokens of context"),
            (load.prompt_tokens, _MOST_PROMPT_TOKENS, "prompt tokens in a step"),
        )  # fmt: skip
        found = self
        for value, most, what in beyond:
            if value > most:
                found = found.with_share(
                    _PER_DOUBLING * math.log2(value / most),
                    f"{value:,.0f} {what}: points go to {most:,}",
                )
        return found

    def with_share(self, share: float, why: str) -> Doubt:
        """Larger by one more way of being off."""
        return Doubt(math.hypot(self.ratio, share), (*self.because, why))


def doubt_of(model: Architecture, flags: Deployment, card: Card, *, fast_link: bool) -> Doubt:
    """Return the uncertainty of this deployment's step times, at any load."""
    found = Doubt(LEFT_OUT_RATIO)
    if card.name not in MEASURED_CARDS:
        if card.name in SIMILAR_CARDS:
            found = found.with_share(
                _SIMILAR_CARD,
                f"no point was measured on {card.name}, but on cards of its generation",
            )
        else:
            share = _OTHER_CARD if card.vendor == "NVIDIA" else _OTHER_MAKE
            found = found.with_share(
                share, f"no point was measured on a card like {card.name}: its data sheet's figures"
            )
    caches = [cache for layer in model.layers for cache in layer]
    if model.keeps_state:
        found = found.with_share(_STATES, "no point has layers that keep a state")
    if any(isinstance(cache, Indexer | Compressed) for cache in caches):
        found = found.with_share(_SPARSE, "no point has sparse attention")
    if flags.pp > 1:
        found = found.with_share(_STAGES, "no point has pipeline stages")
    if flags.tp > 1 and not fast_link:
        found = found.with_share(_SLOW_LINK, "no point exchanges over PCIe")
    if flags.tp > _MOST_RANKS:
        found = found.with_share(_NODES, f"points have up to {_MOST_RANKS} ranks, on one node")
    if flags.num_speculative_tokens:
        found = found.with_share(_DRAFTS, "no point drafts tokens")
    return found

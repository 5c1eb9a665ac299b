"""Models of the catalogue as work on a card."""

from __future__ import annotations

from barostat.catalog.cards import Card, find_card
from barostat.catalog.models import find_model
from barostat.core.version import parse_version
from barostat.kv.architecture import Architecture
from barostat.kv.deployment import Deployment
from barostat.kv.quantization import weight_format
from barostat.kv.read_architecture import read_architecture
from barostat.kv.step_time.card_speeds import FITTED_SPEEDS, card_speeds
from barostat.kv.step_time.model import StepTimeModel
from barostat.kv.step_time.work import RankWork, rank_work


def architecture(name: str) -> Architecture:
    """A model of the catalogue."""
    listed = find_model(name)
    assert listed is not None
    return read_architecture(listed.config, listed.name)


def flags(tp: int = 1, **given: object) -> Deployment:
    """Settings of a 0.19 engine."""
    version = parse_version("0.19.0")
    assert version is not None
    return Deployment(version, 16384, 8192, 256, tp=tp, **given)  # type: ignore[arg-type]


def card(name: str) -> Card:
    """A card of the catalogue."""
    found = find_card(name)
    assert found is not None
    return found


def work(
    name: str,
    tp: int = 1,
    capability: float = 9.0,
    *,
    expert_parallel: bool = False,
    **given: object,
) -> RankWork:
    """A model's work on one of `tp` GPUs."""
    model = architecture(name)
    form = weight_format(model.config, model.text, None, "bfloat16", name)
    return rank_work(model, form, flags(tp, **given), capability, expert_parallel=expert_parallel)


def steps(name: str, gpu: str = "H100", tp: int = 1) -> StepTimeModel:
    """A model's steps on a card."""
    figures = card_speeds(card(gpu))
    assert figures is not None
    return StepTimeModel(work(name, tp, float(card(gpu).capability or 0)), figures, FITTED_SPEEDS)

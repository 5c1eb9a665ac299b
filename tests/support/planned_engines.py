"""Capacity plans of listed models on listed cards."""

from __future__ import annotations

from barostat.catalog.cards import find_card
from barostat.catalog.models import find_model
from barostat.core.version import parse_version
from barostat.engines.vllm.command_line.config import resolve
from barostat.judge.sizing.plan import CapacityPlan, PlanRequest, plan
from barostat.kv.read_architecture import read_architecture


def planned(name: str, gpu: str, *flags: str, version: str = "0.19.0") -> CapacityPlan:
    """The plan of a listed model on a listed card, of 8,192 tokens at most."""
    listed, release, card = find_model(name), parse_version(version), find_card(gpu)
    assert listed is not None
    assert release is not None
    assert card is not None
    config = resolve(
        args=["vllm", "serve", name, "--max-model-len", "8192", *flags],
        version=release,
        gpu=card.name,
    )
    model = read_architecture(listed.config, listed.name)
    return plan(
        PlanRequest(
            model,
            name,
            release,
            config,
            card,
            None if card.seen_gib or card.smi_mib else 72 * 2**30,
        )
    )

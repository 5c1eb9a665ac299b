"""What is here to be measured: a vLLM on its cards; or, to try all but the card, the CPU build of
it, or the twin.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from dev import engine as cpu
from dev.engine import Engine
from dev.gpu import cards as card_tools
from dev.gpu import models
from dev.gpu.card_engine import CardEngine, chosen_settings
from dev.gpu.vllm import Vllm, find
from dev.twin_engine import TwinEngine

from barostat.catalog.cards import Card as KnownCard
from barostat.catalog.cards import find_card
from barostat.core.units import GIB
from barostat.core.version import EngineVersion, parse_version
from barostat.gpus.card import Card

Kind = Literal["card", "cpu", "twin"]
IN_USE_RATIO, RELEASED_WITHIN_S = 0.1, 8.0
"""A card of which more is taken is somebody's: what is measured there would not be the card's."""
TWIN_LATENCY = "base=0.003,prefill=0.00001,decode=0.0001"


@dataclass(frozen=True, slots=True)
class Here:
    """`name`: the card as its tool names it. `version`: of vLLM. `cards`: those that may be used,
    the first for what needs one.
    """

    kind: Kind
    name: str
    version: str
    vllm: Vllm | None = None
    cards: tuple[Card, ...] = ()
    driver: str = ""

    @property
    def label(self) -> str:
        """The card as part of a folder's name: h100-80gb-hbm3."""
        bare = re.sub(r"\b(nvidia|amd|instinct|geforce|tesla)\b", "", self.name.lower())
        return re.sub(r"[^a-z0-9]+", "-", bare).strip("-") or self.kind

    @property
    def release(self) -> EngineVersion:
        """The version, read. Errors: ValueError."""
        found = parse_version(self.version)
        if found is None:
            raise ValueError(f"{self.version} is no version of vLLM that we can read")
        return found

    @property
    def gpu(self) -> str | None:
        """The card as rows name it."""
        return self.name if self.kind == "card" else None

    @property
    def chosen_env(self) -> dict[str, str]:
        """What is set for vLLM itself by whoever started us."""
        return chosen_settings() if self.kind == "card" else {}

    @property
    def known_card(self) -> KnownCard | None:
        """The card of the catalogue, or None."""
        return find_card(self.name) if self.kind == "card" else None

    @property
    def memory_gib(self) -> float | None:
        """What the tool says that one card has, in GiB."""
        total = self.cards[0].memory_total_bytes if self.cards else None
        return total / GIB if total else None

    def engine(
        self,
        model: str,
        *flags: str,
        env: Mapping[str, str] | None = None,
        cards: int = 1,
        options: tuple[str, ...] = (),
    ) -> Engine:
        """One of it, not started. `options`: the twin's own."""
        if self.kind == "twin":
            return TwinEngine(*flags, shape=model, env=env, options=options, latency=TWIN_LATENCY)
        if self.kind == "cpu":
            return Engine(*flags, shape=model, env=env)
        assert self.vllm is not None
        return CardEngine(
            *flags,
            vllm=self.vllm,
            cards=self.cards[:cards],
            model=models.folder_of(model, self.vllm),
            env=env,
        )


def here(kind: Kind) -> Here | str:
    """What is here, or a sentence that says what is missing."""
    if kind == "twin":
        return Here("twin", "twin", TwinEngine.version)
    if kind == "cpu":
        return (
            Here("cpu", "cpu", Engine.version)
            if cpu.is_installed()
            else "the CPU build of vLLM is not installed here: run `make vllm`"
        )
    found = _free_cards()
    if isinstance(found, str):
        return found
    first = found[0]
    if (taken := card_tools.used_ratio(first)) > IN_USE_RATIO:
        return (
            f"{first.title} ({first.name}), the emptiest, is in use: {taken:.0%} of its memory "
            "is taken; measure on one that is free"
        )
    vllm = find()
    if isinstance(vllm, str):
        return vllm
    if "cpu" in vllm.version:
        return (
            f"{vllm.program} is vLLM {vllm.version}, the CPU build, which does not see the "
            "card; VLLM=path names another"
        )
    if parse_version(vllm.version) is None:
        return f"{vllm.program} is vLLM {vllm.version}, which is no version that we can read"
    alike = tuple(card for card in found if card.name == first.name)
    return Here("card", first.name or first.vendor, vllm.version, vllm, alike, card_tools.driver())


def _free_cards() -> tuple[Card, ...] | str:
    """The cards, once the engine of a run that was just killed has left them."""
    deadline = time.monotonic() + RELEASED_WITHIN_S
    while True:
        found = card_tools.cards()
        if (
            isinstance(found, str)
            or card_tools.used_ratio(found[0]) <= IN_USE_RATIO
            or time.monotonic() > deadline
        ):
            return found
        time.sleep(1.0)

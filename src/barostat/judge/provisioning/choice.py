"""Ranks offers and gives the reasons for the first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from barostat.core.units import many
from barostat.judge.provisioning.offers import Offer


@dataclass(frozen=True, slots=True)
class Choice:
    """Ranked offers. `ranked`: best first, infeasible ones last. `because`: reasons for the first;
    empty if none is feasible.

    `by_price`: ranked by cost, otherwise by number of cards.
    """

    ranked: tuple[Offer, ...]
    because: tuple[str, ...]
    by_price: bool

    @property
    def chosen(self) -> Offer | None:
        """The best offer; None if none is feasible."""
        return self.ranked[0] if self.ranked and self.ranked[0].replicas is not None else None


def choose(offers: Sequence[Offer]) -> Choice:
    """Rank by cost if prices are known, otherwise by cards; then by the result with slow steps,
    then by ITL.
    """
    by_price = any(one.price_per_card is not None for one in offers)
    ranked = tuple(sorted(offers, key=lambda one: _order(one, by_price)))
    meeting = [one for one in ranked if one.replicas is not None]
    return Choice(ranked, _why(meeting, by_price) if meeting else (), by_price)


def _order(one: Offer, by_price: bool) -> tuple[bool, bool, float, float, float]:
    amount, most = _amount(one, by_price), _most(one, by_price)
    gap = one.expected.tpot_p99_s if one.expected is not None else None
    return one.replicas is None, amount is None, _or_last(amount), _or_last(most), _or_last(gap)


def _or_last(value: float | None) -> float:
    return math.inf if value is None else value


def _amount(one: Offer, by_price: bool) -> float | None:
    return one.cost(one.cards) if by_price else one.cards


def _most(one: Offer, by_price: bool) -> float | None:
    return one.cost(one.most_cards) if by_price else one.most_cards


def _said(amount: float | None, by_price: bool) -> str:
    if amount is None:
        return "unknown"
    return f"{amount:,.2f} an hour" if by_price else many(round(amount), "card")


def _why(meeting: Sequence[Offer], by_price: bool) -> tuple[str, ...]:
    first, others = meeting[0], meeting[1:]
    said = [
        (
            f"{first.name}: {_said(_amount(first, by_price), by_price)}, "
            f"{'cheapest option that meets the SLO' if by_price else 'fewest cards that meet the SLO'}"
        )
    ]
    if others and _amount(others[0], by_price) == _amount(first, by_price):
        said[0] += (
            f"; tied with {others[0].name}, preferred because it tolerates slower steps or has a "
            f"shorter ITL"
        )
    elif others and _amount(others[0], by_price) is not None:
        said[0] += (
            f"; next is {others[0].name} with {_said(_amount(others[0], by_price), by_price)}"
        )
    said += _doubt(first, others, by_price)
    unpriced = [one.name for one in meeting if one.price_per_card is None] if by_price else []
    if unpriced:
        said.append(f"ranked last because they have no price: {', '.join(unpriced)}")
    if not by_price:
        said.append("cards differ in cost: give --price to rank by cost")
    return tuple(said)


def _doubt(first: Offer, others: Sequence[Offer], by_price: bool) -> list[str]:
    """Return how the uncertainty of step times affects the choice."""
    worst = _most(first, by_price)
    slow = f"if its steps take {1 + first.doubt_ratio:.2f} times as long"
    if worst is None:
        return [f"{slow}, no number of replicas meets the SLO: measure one before you buy"]
    if first.most == first.replicas:
        return [f"{slow}, it still meets the SLO"]
    rivals = [
        one for one in others if (least := _most(one, by_price)) is not None and least < worst
    ]
    turn = (
        (
            f"; if all are that slow, {rivals[0].name} is better "
            f"({_said(_most(rivals[0], by_price), by_price)}): measure both"
        )
        if rivals
        else "; it is still the best"
    )
    return [f"{slow}, it needs {many(first.most or 0, 'replica')}, {_said(worst, by_price)}{turn}"]

"""The order of offers: by cost where there are prices, else by cards; what the doubt does to it is
said.
"""

from __future__ import annotations

from dataclasses import dataclass

from barostat.judge.provisioning.choice import choose
from barostat.judge.provisioning.offers import Offer


@dataclass(frozen=True)
class Known(Offer):
    """An offer whose replicas have a known number of cards, without a plan."""

    each: int = 1

    @property
    def cards_each(self) -> int:
        return self.each


def known(
    name: str, replicas: int | None, most: int | None, price: float | None = None, each: int = 1
) -> Known:
    return Known(
        name,
        replicas=replicas,
        fewest=replicas,
        most=most,
        price_per_card=price,
        each=each,
        doubt_ratio=0.2,
        refused="",
    )


def test_the_cheapest_is_chosen_and_the_one_that_holds_none_is_last() -> None:
    found = choose(
        [
            known("never", None, None, 1.0),
            known("dear", 2, 2, 5.0),
            known("cheap", 3, 3, 2.0),
            known("unpriced", 1, 1),
        ]
    )
    assert [one.name for one in found.ranked] == ["cheap", "dear", "unpriced", "never"]
    assert (
        found.because[0]
        == "cheap: 6.00 an hour, cheapest option that meets the SLO; next is dear with 10.00 an hour"
    )
    assert "it still meets the SLO" in found.because[1]
    assert "ranked last because they have no price: unpriced" in found.because


def test_a_choice_that_slow_steps_would_turn_says_so() -> None:
    found = choose([known("bold", 1, 8), known("safe", 2, 2)])
    assert found.chosen is not None
    assert found.chosen.name == "bold"
    assert (
        "it needs 8 replicas, 8 cards; if all are that slow, safe is better (2 cards): measure both"
    ) in found.because[1]
    assert (
        choose([known("bold", 1, None)])
        .because[1]
        .endswith("no number of replicas meets the SLO: measure one before you buy")
    )


def test_nothing_is_chosen_where_nothing_holds() -> None:
    found = choose([known("never", None, None)])
    assert found.chosen is None
    assert found.because == ()

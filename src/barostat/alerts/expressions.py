"""Pieces of PromQL: the names that a quantity has in the versions meant, and the shapes that the
rules share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from barostat.alerts.terms import Terms
from barostat.catalog.metric_names import NAME_ERAS
from barostat.core.version import EngineVersion

ENGINE_LABELS = "engine,pid"
"""Labels of data-parallel engines and processes within one server. Alerts are per replica, so they
are summed away.
"""
WINDOW_S = 300.0
"""Rates are over five minutes: two scrapes are in it even at one a minute."""


def names(candidates: Sequence[str], terms: Terms) -> list[str]:
    """Those that the version has, newest first; of any version all."""
    kept = [name for name in candidates if terms.version is None or _shown(name, terms.version)]
    return kept or list(candidates[:1])


def either(candidates: Sequence[str], terms: Terms, shape: Callable[[str], str]) -> str:
    """The first that is there of the names, each in this shape."""
    return " or ".join(shape(name) for name in names(candidates, terms))


def over_engines(how: str, inside: str, *labels: str) -> str:
    """One value per replica. `labels`: further ones that go."""
    return f"{how} without ({','.join((ENGINE_LABELS, *labels))}) ({inside})"


def rate(name: str, terms: Terms, seconds: float = WINDOW_S, **labels: str) -> str:
    """A counter's rate per second."""
    return f"rate({name}{terms.matchers(**labels)}[{terms.span(seconds)}])"


def quantile(share: float, candidates: Sequence[str], terms: Terms) -> str:
    """A histogram's quantile per replica over the window."""
    return either(
        candidates,
        terms,
        lambda name: (
            f"histogram_quantile({share:g}, {over_engines('sum', rate(f'{name}_bucket', terms))})"
        ),
    )


def next_bucket(bounds: Sequence[float], wanted: float) -> float | None:
    """Return the lowest upper bound of at least `wanted`; None if it is above all of them."""
    return next((bound for bound in bounds if bound >= wanted), None)


def bucket_label(bound: float) -> str:
    """A matcher's expression for that bound, as clients write it: 1, 1.0."""
    return "~" + f"{bound:g}".replace(".", "\\.") + ("" if bound % 1 else "(\\.0)?")


def _shown(name: str, version: EngineVersion) -> bool:
    return all(
        not (era.since and version.before(era.since))
        and not (era.before and version.at_least(era.before))
        for era in NAME_ERAS
        if era.what == name
    )

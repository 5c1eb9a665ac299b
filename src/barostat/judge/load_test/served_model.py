"""Whether the engine under test serves the model that the limits are for."""

from __future__ import annotations

from collections.abc import Sequence

from barostat.judge.load_test.proof import Check

_STORES = ("/", ".", "~")


def model_check(wanted: str | None, names: Sequence[str]) -> Check | None:
    """The check of the model; None if the limits name none, or the engine serves it.

    `names`: what the engine calls its model: the served name first, then what it was loaded from
    (a repository, or a path, which may say nothing).
    """
    if wanted is None or any(_is(wanted, name) for name in names):
        return None
    served = names[0] if names else "a model without a name"
    loaded = next((name for name in names[1:] if name != served), "")
    told = f"{served} (loaded from {loaded})" if loaded else served
    named = [name for name in names[1:] if not name.startswith(_STORES) and "://" not in name]
    if named:
        sentence = (
            f"the limits are for {wanted}, the engine serves {told}: plan limits for that model, "
            "or correct spec.model"
        )
        return Check("target", "model", "fail", sentence)
    sentence = f"the engine serves {told}: whether that is {wanted}, as in the limits, is not known"
    return Check("target", "model", "note", sentence)


def _is(wanted: str, name: str) -> bool:
    """True if a name, repository or path is that of the model; owners of copies are not compared."""
    repository, base = wanted.strip("/").casefold(), wanted.strip("/").rpartition("/")[2].casefold()
    parts = name.casefold().strip("/").split("/")
    return base in parts or f"models--{repository.replace('/', '--')}" in parts

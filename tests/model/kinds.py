"""The small controllers by the way in which their kinds roll."""

from __future__ import annotations

from types import ModuleType

from tests.model import canary, cluster, ordinals
from tests.model.cluster import Broken, Own, Setting, World

from barostat.remedy.acts import Act

_BY_ROLLS: dict[str, ModuleType] = {
    "spares": cluster,
    "ordinals": ordinals,
    "canary": canary,
    "owner": canary,
}


def begin(setting: Setting) -> World:
    """The world before the first plan."""
    found: World = _BY_ROLLS[setting.rolls].begin(setting)
    return found


def settle(world: World, setting: Setting) -> tuple[World, Broken]:
    """One round of the controllers."""
    found: tuple[World, Broken] = _BY_ROLLS[setting.rolls].settle(world, setting)
    return found


def own_acts(setting: Setting) -> Own:
    """The acts that are different for home's kind."""
    found: Own = _BY_ROLLS[setting.rolls].act
    return found


def is_done(world: World, setting: Setting, asked: Act, name: str) -> bool:
    """True when what the act asks for can be seen."""
    found: bool | None = _BY_ROLLS[setting.rolls].is_done(world, asked, name)
    return bool(cluster.is_done(world, asked, name) if found is None else found)

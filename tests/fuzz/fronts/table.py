"""All fronts, by name."""

from __future__ import annotations

from tests.fuzz.front import Front
from tests.fuzz.fronts import answers, commands, evidence, files, listening

GROUPS: dict[str, tuple[Front, ...]] = {
    "evidence": evidence.FRONTS,
    "files": files.FRONTS,
    "commands": commands.FRONTS,
    "answers": answers.FRONTS,
    "listening": listening.FRONTS,
}
FRONTS: dict[str, Front] = {front.name: front for group in GROUPS.values() for front in group}

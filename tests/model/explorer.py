"""Walks every interleaving of the remedy machine and a small world, breadth first, and holds each
state to the laws.

A node is (machine, outstanding request, did it arrive, world). The first node that breaks a law is
the nearest one, so its way there is a shortest counter-example.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

from tests.model import laws
from tests.model.cluster import Broken, Setting
from tests.model.kinds import begin
from tests.model.machines import Numbered
from tests.model.moves import Moves, Node
from tests.model.plans import first_state


@dataclass(slots=True)
class Found:
    """What the walk came to."""

    states: int = 0
    edges: int = 0
    machines: int = 0
    worlds: int = 0
    ends: dict[str, int] = field(default_factory=dict)
    broken: Broken = ()
    trace: tuple[str, ...] = ()


def explore(setting: Setting, most: int = 5_000_000) -> Found:
    """Every node, until a law is broken or there are no more.

    Errors: RuntimeError where there are more than `most`: the setting is too large to be walked.
    """
    moves = Moves(setting)
    start: Node = (
        moves.machines.number(first_state(moves.plans[0])),
        -1,
        False,
        moves.world(begin(setting)),
    )
    index: dict[Node, int] = {start: 0}
    nodes, came, names = [start], array("q", [-1]), Numbered[str]()
    named = array("q", [names.number("")])
    sources, targets = array("q"), array("q")
    ends: list[int] = []
    found = Found()
    at = 0
    while at < len(nodes) and not found.broken:
        machine, _, _, world = node = nodes[at]
        state = moves.machines.states[machine]
        moves.broken = moves.check_world(world) + moves.machines.check(machine)
        for name, after in () if moves.broken else moves.following(node):
            number = index.get(after)
            if number is None:
                number = index[after] = len(nodes)
                nodes.append(after)
                came.append(at)
                named.append(names.number(name))
            sources.append(at)
            targets.append(number)
            if moves.broken:
                at = number
                break
        if state.ended and not moves.broken:
            ends.append(at)
            end = "Superseded" if state.superseded else state.phase
            found.ends[end] = found.ends.get(end, 0) + 1
            if moves.surroundings(world)[0]:
                moves.broken += laws.of_end(moves.worlds.values[world], setting, state)
        if moves.broken:
            found.broken, found.trace = (
                moves.broken,
                tuple(names.values[named[step]] for step in _way(at, came)),
            )
        at += 1
        if len(nodes) > most:
            raise RuntimeError(f"more than {most} states")
    if not found.broken:
        stuck = _stuck(len(nodes), sources, targets, ends)
        if stuck is not None:
            found.broken = ("L5: from here nothing leads to an end",)
            found.trace = tuple(names.values[named[step]] for step in _way(stuck, came))
    found.states, found.edges = len(nodes), len(sources)
    found.machines, found.worlds = len(moves.machines.states), len(moves.worlds.values)
    return found


def _way(at: int, came: array[int]) -> list[int]:
    """The nodes on the way from the start to that one, without the start."""
    way: list[int] = []
    while at > 0:
        way.append(at)
        at = came[at]
    return way[::-1]


def _stuck(count: int, sources: array[int], targets: array[int], ends: list[int]) -> int | None:
    """The first node from which no way leads to an end, or None."""
    into: list[list[int]] = [[] for _ in range(count)]
    for source, target in zip(sources, targets, strict=True):
        into[target].append(source)
    reached = bytearray(count)
    todo = list(ends)
    for end in ends:
        reached[end] = 1
    while todo:
        for source in into[todo.pop()]:
            if not reached[source]:
                reached[source] = 1
                todo.append(source)
    return next((node for node in range(count) if not reached[node]), None)

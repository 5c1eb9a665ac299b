"""What is learned of engines that serve the same: how long answers get, how many tokens inputs are,
the margin that keeps preemptions rare, and what went where.
"""

from __future__ import annotations

from collections import OrderedDict

from barostat.admit.input_sizes import InputSizes
from barostat.admit.lengths import Lengths
from barostat.admit.margin import Margin

_PREFIXES = 8192


class Learned:
    """Statistics learned from the engines of one model and its adapters, which share traffic.
    Mutable. `said`: the models they report. `affinity`: replicas by prompt prefix.
    """

    __slots__ = ("affinity", "inputs", "lengths", "margin", "said")

    def __init__(self) -> None:
        self.lengths = Lengths()
        self.inputs = InputSizes()
        self.margin = Margin()
        self.affinity: OrderedDict[int, str] = OrderedDict()
        self.said = ""

    def near(self, prefix_key: int, replica: str) -> None:
        """Prompts that begin like this one were last sent to that replica."""
        affinity = self.affinity
        affinity[prefix_key] = replica
        affinity.move_to_end(prefix_key)
        if len(affinity) > _PREFIXES:
            affinity.popitem(last=False)

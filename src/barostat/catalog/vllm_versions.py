"""The known versions of vLLM. To add one, set `NEWEST_READ`, then add its changes to `settings/`,
`vllm_behaviours.py`, `metric_names.py` and `vllm_exposed.py`.
"""

from __future__ import annotations

OLDEST_READ = "0.6.6"
"""The oldest version whose arguments and metric names were read."""
NEWEST_READ = "0.33.0"
"""The newest version whose arguments, defaults, metrics, memory and scheduler were read: newer ones
are treated like it.
"""
DEFAULT_VERSION = "0.32.0"
"""The version assumed where none is given: the one whose own code the arithmetic, the command line
and the twin are held to (tests/parity), and that runs in the tests. 0.33.0 was read from its wheel
alone, so it is never assumed.
"""
OLDEST_PLANNED = "0.6.0"
"""The oldest version whose memory is planned; older ones are treated like it."""
OLDEST_SIMULATED = "0.12.0"
"""The oldest version that the twin simulates: before it, a victim stayed in the step that preempted
it.
"""

"""The kinds of objects that make engine pods: one file each, found by walking this package.

`_kind.py` says what a kind answers, and `_known.py` finds one by its name, by a pod or as a person
types it. The other files each export a `KIND` and are named after it. A kind that says where its pod
templates are is read and advised on; one that also says how it rolls (`rolls`) is changed by
`barostat mitigate`.
"""

from barostat.platform.workloads._canary import CanaryKind
from barostat.platform.workloads._kind import Api, Lists, Part, Place, Revision, Rolls, WorkloadKind
from barostat.platform.workloads._known import (
    kind_named,
    kind_of_plural,
    kind_typed,
    kinds,
    marks,
    spellings,
    words_to_type,
)
from barostat.platform.workloads._numbered import Makes, NumberedKind
from barostat.platform.workloads._owned import OwnedKind

__all__ = [
    "Api",
    "CanaryKind",
    "Lists",
    "Makes",
    "NumberedKind",
    "OwnedKind",
    "Part",
    "Place",
    "Revision",
    "Rolls",
    "WorkloadKind",
    "kind_named",
    "kind_of_plural",
    "kind_typed",
    "kinds",
    "marks",
    "spellings",
    "words_to_type",
]

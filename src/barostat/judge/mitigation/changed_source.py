"""A workload with one change, everything else left as it is: the change is made to its templates, or
a former revision of it is put back.
"""

from __future__ import annotations

import copy
from typing import Any

from barostat.core.change import ConfigChange
from barostat.judge.manifest_edit.config_change import ADDED_BY_REPLICA_SET, changed_template
from barostat.judge.manifest_edit.flag_surgery import NotChanged
from barostat.platform.objects import Object
from barostat.platform.workloads import WorkloadKind


def changed_source(
    kind: WorkloadKind, item: Object, change: ConfigChange, *, revision: Object | None = None
) -> Object | NotChanged:
    """The part of the workload that a change edits, with the change. `revision`: that part as it
    was in the revision that a rollback goes to.
    """
    if change.kind == "revision":
        if revision is None:
            return NotChanged(f"revision {change.value} is not kept any more")
        before: dict[str, Any] = copy.deepcopy(dict(revision))
        before.get("metadata", {}).get("labels", {}).pop(ADDED_BY_REPLICA_SET, None)
        return before
    made = kind.edited(item, lambda template: changed_template(change, template))
    return made if isinstance(made, NotChanged) else kind.source(made)

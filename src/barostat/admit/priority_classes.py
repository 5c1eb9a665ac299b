"""Priority classes: which class a request is in, and how much each class may take.

The limits name the classes, the most important first. A request is in the class of its tenant, or
in the lower one that it names itself. Of each pool, and of the places to wait, the requests of a
class and of all classes below it take at most the shares of that class: what is left is for the
classes above. Those above are admitted first, and a full line refuses the newest request of the
lowest class first.
"""

from __future__ import annotations

from barostat.admit.decision import Refused
from barostat.admit.rules import ClassRule, Rules

_SHOWN = 8


def class_of(rules: Rules, tenant: str, asked: str) -> ClassRule | Refused | None:
    """Return the class of a request, None if the limits name no classes. `asked`: the class that
    the request names, "" for none.
    """
    classes = rules.classes
    if not classes:
        return None
    rule = rules.tenants.get(tenant)
    own = classes.get(rule.priority_class) if rule is not None else None
    if own is None:
        own = rules.first_class
        assert own is not None
    if not asked or asked == own.name:
        return own
    named = classes.get(asked)
    if named is None:
        known = ", ".join(list(classes)[:_SHOWN])
        return Refused(
            400, "priority-class-unknown", f"there is no such priority class; these are: {known}"
        )
    if named.rank < own.rank:
        return Refused(
            403,
            "priority-class-not-allowed",
            f"requests of this tenant are of priority class {own.name} or below",
        )
    return named

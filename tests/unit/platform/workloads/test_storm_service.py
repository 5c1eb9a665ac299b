"""AIBrix StormService: each role has a template of its own."""

from __future__ import annotations

from tests.support.kind_samples import FLAG, NEW, Sample, head, template

_LABELS = {"storm-service-name": "chat", "roleset-name": "chat-roleset-x", "role-name": "decode"}


def _roles(value: str) -> dict[str, object]:
    roles = [
        {"name": "decode", "replicas": 1, "template": template([FLAG, value])},
        {"name": "router", "template": {"spec": {"containers": [{"name": "r", "image": "r"}]}}},
    ]
    return {"template": {"spec": {"roles": roles}}}


SAMPLE = Sample(
    {**head("StormService"), "spec": {"replicas": 1, **_roles("64")}},
    _LABELS,
    patch={"spec": _roles(NEW)},
    role="decode",
    says="spec.paused",
)


def test_a_role_that_starts_no_engine_is_left_as_it_is() -> None:
    assert [part.role for part in SAMPLE.kind.parts(SAMPLE.item)] == ["decode", "router"]

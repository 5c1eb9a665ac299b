"""The rights for each kind of workload are those that the code says, in deploy/rbac and in the
chart alike.
"""

from __future__ import annotations

import pytest
from dev import workload_rights
from tests.support.kind_samples import NAME, samples

SAMPLES = samples()


def test_the_rights_are_current() -> None:
    for path, text in workload_rights.texts().items():
        assert path.read_text() == text, f"{path.name}: run python dev/workload_rights.py"


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_a_gateway_may_read_what_tells_the_label_of_the_pods(name: str) -> None:
    kind = SAMPLES[name].kind
    granted = any(
        f"[{kind.api.group}]" in line and kind.api.plural in line
        for line in workload_rights.follow().splitlines()
    )
    assert granted == bool(kind.query(NAME, SAMPLES[name].item))


def test_a_file_without_its_marks_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workload_rights, "BEGIN", "# no such mark\n")
    with pytest.raises(ValueError, match="has lost its marks"):
        workload_rights.texts()

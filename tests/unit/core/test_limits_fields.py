"""The fields of a limits document."""

from __future__ import annotations

import dataclasses

from barostat.core.limits import EngineLimits, LimitsSpec, PriorityClass, TenantLimits
from barostat.core.limits_fields import BOUNDS, bounds, fields_of, required


def test_every_field_has_its_spelling_and_its_type_without_none() -> None:
    assert fields_of(EngineLimits)["maxNumSeqs"] == ("max_num_seqs", int)
    assert fields_of(EngineLimits)["watermark"] == ("watermark", float)
    assert fields_of(LimitsSpec)["engine"] == ("engine", EngineLimits)


def test_only_a_tenant_needs_something() -> None:
    assert required(TenantLimits) == {"name"}
    assert required(LimitsSpec) == set()


def test_every_bound_is_of_a_field_that_exists() -> None:
    sections = [
        kind for _, kind in fields_of(LimitsSpec).values() if dataclasses.is_dataclass(kind)
    ]
    names = {
        name
        for kind in (*sections, TenantLimits, PriorityClass)
        for name, _ in fields_of(kind).values()  # type: ignore[arg-type]
    }
    assert set(BOUNDS) <= names
    assert (bounds("max_num_seqs", int), bounds("max_stream_seconds", float)) == (
        (1, None, False),
        (0, None, True),
    )

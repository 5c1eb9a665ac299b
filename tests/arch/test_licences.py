"""Nothing that a user gets with Barostat binds what is built on it."""

from __future__ import annotations

from email.message import Message

import pytest
from dev.licences import binds, libraries, licence_of


def test_no_library_binds_and_each_says_its_licence() -> None:
    found = libraries()
    assert {"httpx", "uvicorn", "grpcio", "redis", "certifi"} <= {one.name for one in found}
    assert not {"pytest", "mypy"} & {one.name for one in found}
    assert not [one for one in found if binds(one.licence)]


@pytest.mark.parametrize(
    "licence",
    [
        "GPL-3.0-only",
        "AGPL-3.0-or-later",
        "GNU General Public License v2 (GPLv2)",
        "SSPL-1.0",
        "",
        "BUSL-1.1",
    ],
)
def test_what_binds_is_seen(licence: str) -> None:
    assert binds(licence)


@pytest.mark.parametrize(
    "licence",
    [
        "MIT",
        "MPL-2.0 AND (Apache-2.0 OR MIT)",
        "LGPL-3.0-only",
        "GPL-2.0-only OR MIT",
        "BSD License",
        "Apache-2.0",
    ],
)
def test_what_does_not_bind_is_let_through(licence: str) -> None:
    assert not binds(licence)


def test_a_whole_text_is_no_name_of_a_licence() -> None:
    told = Message()
    told["License"] = "Permission is hereby granted\n to anybody"
    assert licence_of(told) == ""  # type: ignore[arg-type]

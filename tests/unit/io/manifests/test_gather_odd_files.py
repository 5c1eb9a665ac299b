"""A pipe among the files to check holds nothing up; one that was named is reported."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from barostat.io.manifests.gather import gather

pytestmark = pytest.mark.timeout(10)


@pytest.mark.parametrize("name", ["limits.yaml", "limits.json", "start.sh"])
def test_a_pipe_that_is_named(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name)
    found = gather([str(tmp_path / name)])
    (said,) = [one.message for one in found.unchecked]
    assert "not a regular file" in said


def test_a_pipe_in_a_folder(tmp_path: Path) -> None:
    for name in ("limits.yaml", "limits.json", "start.sh"):
        os.mkfifo(tmp_path / name)
    found = gather([str(tmp_path)])
    assert (found.files, found.documents) == (3, [])


def test_the_pipe_of_a_shell_is_read() -> None:
    read, write = os.pipe()
    os.write(write, b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n")
    os.close(write)
    found = gather([f"/dev/fd/{read}"])
    os.close(read)
    assert [one.text[:10] for one in found.documents] == ["apiVersion"]

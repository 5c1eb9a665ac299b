"""A pipe becomes a file that can be read twice."""

from __future__ import annotations

import io
import os
import sys
import threading
from pathlib import Path

import pytest

from barostat.core.errors import InputError
from barostat.io.input_files.piped import as_file, piped_in


class _Input(io.TextIOWrapper):
    def __init__(self, content: bytes, terminal: bool = False) -> None:
        super().__init__(io.BytesIO(content))
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


def test_a_file_is_itself(tmp_path: Path) -> None:
    with as_file(str(tmp_path / "x.log")) as path:
        assert path == tmp_path / "x.log"


def test_what_is_piped_in_is_kept_while_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", _Input(b"one\ntwo\n"))
    with as_file("-") as path:
        assert path.read_bytes() == path.read_bytes() == b"one\ntwo\n"
    assert not path.exists()


def test_a_terminal_is_no_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", _Input(b"", terminal=True))
    with pytest.raises(InputError, match="kubectl logs"), as_file("-"):
        pass


def test_a_program_that_was_started_without_stdin_has_nothing_piped_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="kubectl logs"), as_file("-"):
        pass
    with pytest.raises(InputError, match="stdin is closed"):
        piped_in()


def test_a_named_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"a line\n",))
    writer.start()
    with as_file(str(pipe)) as path:
        assert path.read_bytes() == b"a line\n"
    writer.join()

"""`barostat collect`, as a person runs it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.small_servers import always, answer, closed_port, serving, vllm

from barostat.io.bundles import bundle
from barostat.shells.cli.main import main

pytestmark = pytest.mark.usefixtures("on_virtual_time")


def _code(words: list[str]) -> int:
    """The exit code, argparse's own included."""
    try:
        return main(words)
    except SystemExit as ended:
        return int(ended.code or 0)


def test_a_running_engine_is_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "vllm.log"
    log.write_text("INFO one\n")
    out = tmp_path / "incident.tar.gz"
    with serving(vllm()) as (port, seen):
        words = [
            "collect",
            f"localhost:{port}",
            "--for",
            "400ms",
            "--interval",
            "200ms",
            "--log",
            str(log),
            "--out",
            str(out),
        ]
        assert _code(words) == 0
        assert not [line for line in seen if line.startswith("POST")]
    (replica,) = bundle.read(out).replicas
    assert (len(replica.scrapes), replica.log is not None and replica.log.lines) == (3, 1)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"wrote {out}: 3 scrapes, 1 log\n" in printed.err
    assert "left out: prompts" in printed.err
    assert f"barostat diagnose --bundle {out}" in printed.err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["{nothing}", "--out", "{tmp}/b"], 4, "refuses the connection"),
        (["{page}", "--out", "{tmp}/b"], 4, "not vLLM: /metrics is an HTML page"),
        (["{engine}", "--out", "{tmp}/full"], 2, "is there already and not empty"),
        (["{engine}", "--out", "{tmp}/no/where"], 2, "does not exist; make it first"),
        (["{engine}"], 2, "--out"),
        (["--out", "{tmp}/b"], 2, "nothing to look at"),
        (["ftp://x", "--out", "{tmp}/b"], 2, "write it as http://host:8000"),
        (["{engine}", "--for", "soon", "--out", "{tmp}/b"], 2, "no duration; write 30s"),
        (["{engine}", "--interval", "0", "--out", "{tmp}/b"], 2, "100ms or more"),
        (["{engine}", "{page}", "--pid", "1", "--out", "{tmp}/b"], 2, "give one URL"),
        (["{engine}", "--log", "{tmp}/gone.log", "--out", "{tmp}/b"], 2, "there is no such file"),
    ],
)
def test_what_cannot_be_is_one_sentence_and_the_right_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: int, said: str
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("x")
    with serving(vllm()) as (port, _), serving(always(answer("<html>"))) as (page, _):
        places = {
            "nothing": f"localhost:{closed_port()}",
            "page": f"localhost:{page}",
            "engine": f"localhost:{port}",
            "tmp": str(tmp_path),
        }
        given = [word.format(**places) for word in words]
        assert _code(["collect", "--for", "200ms", "--interval", "100ms", *given]) == code
    printed = capsys.readouterr()
    assert said in printed.err
    assert "Traceback" not in printed.err
    assert not (tmp_path / "b").exists()

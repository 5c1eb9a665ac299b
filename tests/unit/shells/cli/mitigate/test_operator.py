"""`barostat operator`: what cannot be meant is refused in one sentence, before anything is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from barostat.shells.cli.main import main

KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:9"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
"""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--interval", "60s"], "harm is to be seen within 30 s"),
        (["--quiet-hours", "at night"], "five cron fields"),
        (["--port", "70000"], "is no port"),
        (["--notify-slack-file", "{url}"], "does not hold a URL"),
        (["--notify-slack-file", "nowhere"], "No such file"),
        (["--gateway", "ftp://x"], "ftp://x"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    tmp_path: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    (tmp_path / "url").write_text("not-a-url")
    given = [word.format(url=tmp_path / "url") for word in words]
    assert main(["operator", "--kubeconfig", str(tmp_path / "kubeconfig"), *given]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1


def test_one_namespace_or_all(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["operator", "-n", "x", "-A"])
    assert end.value.code == 2
    assert "not allowed with" in capsys.readouterr().err


def test_a_port_that_is_taken_is_an_outside_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import socket

    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        words = ["operator", "--kubeconfig", str(tmp_path / "kubeconfig"), "--port", port]
        assert main(words) == 4
    assert f"cannot listen on 127.0.0.1:{port}" in capsys.readouterr().err

"""What is told before the gateway starts: arguments that cannot be meant."""

from __future__ import annotations

import pytest

from barostat.shells.cli.main import main


@pytest.mark.parametrize(
    "hosts", [(), ("--host", "0.0.0.0"), ("--host", "::", "--admin-host", "10.0.0.1")]
)
def test_two_ports_are_two(hosts: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "gateway",
        "--limits",
        "limits.yaml",
        "--upstream",
        "http://a:8000",
        "--port",
        "9000",
        "--admin-port",
        "9000",
        *hosts,
    ]
    assert main(arguments) == 2
    assert "--admin-port 9000: is also the port of --port" in capsys.readouterr().err


def test_one_port_on_two_addresses(capsys: pytest.CaptureFixture[str]) -> None:
    hosts = ["--host", "10.0.0.1", "--port", "9000", "--admin-port", "9000"]
    assert (
        main(["gateway", "--limits", "no-such-file.yaml", "--upstream", "http://a:8000", *hosts])
        == 2
    )
    assert "no-such-file.yaml: No such file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["http://a:8000"], "an engine is named with --upstream http://a:8000"),
        (
            ["--upstream", "http://a:1", "--upstream", "https://a:1"],
            "--upstream: names the same engine twice: a:1",
        ),
        (
            ["--upstream", "http://a:1", "--max-body-mib", "2e6"],
            "--max-body-mib 2e+06: must be above 0, and below a million",
        ),
    ],
)
def test_what_is_meant_is_told(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["gateway", "--limits", "limits.yaml", *arguments]) == 2
    assert said in capsys.readouterr().err

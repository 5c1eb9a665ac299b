"""`barostat diagnose` alone finds what is there."""

from __future__ import annotations

import argparse
from types import SimpleNamespace

import pytest

from barostat.core.errors import InputError
from barostat.shells.cli.diagnose.default_target import LOCAL, fill_in


def _asked() -> argparse.Namespace:
    return argparse.Namespace(target=[], namespace=None)


def test_an_engine_on_this_machine_comes_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("barostat.io.engine_http.local_server.is_engine", lambda url: url == LOCAL)
    arguments = _asked()
    fill_in(arguments, reads_recordings=True)
    assert arguments.target == [LOCAL]
    assert LOCAL in capsys.readouterr().err


def test_else_the_namespace_of_the_context(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("barostat.io.engine_http.local_server.is_engine", lambda _: False)
    monkeypatch.setattr(
        "barostat.io.kubernetes.client.kubeconfig.find_access",
        lambda: SimpleNamespace(namespace="inference"),
    )
    arguments = _asked()
    fill_in(arguments, reads_recordings=True)
    assert (arguments.target, arguments.namespace) == ([], "inference")
    assert "namespace inference" in capsys.readouterr().err


def test_nothing_at_hand_is_told_with_what_could_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> None:
        raise InputError("no kubeconfig")

    monkeypatch.setattr("barostat.io.engine_http.local_server.is_engine", lambda _: False)
    monkeypatch.setattr("barostat.io.kubernetes.client.kubeconfig.find_access", none)
    with pytest.raises(InputError, match="nothing to look at: no vLLM answers") as only_live:
        fill_in(_asked(), reads_recordings=False)
    assert "--bundle" not in str(only_live.value)
    with pytest.raises(InputError, match="a --log FILE or a --bundle PATH"):
        fill_in(_asked(), reads_recordings=True)

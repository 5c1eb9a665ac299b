"""What is guessed of an engine's settings is marked, until somebody says better."""

from __future__ import annotations

from barostat.core.config import ConfigValue, EngineConfig
from barostat.core.version import parse_version
from barostat.core.window import Window
from barostat.judge.observed.settings import assumed, observed_settings


def _window(*, certain: bool) -> Window:
    values = {
        "max_num_seqs": ConfigValue(
            256, "version-default", "vLLM 0.32.0, memory tier not known", certain
        ),
        "num_gpu_blocks": ConfigValue(1000, "metric", "cache_config_info"),
    }
    return Window("r", 1000.0, {}, EngineConfig(values), parse_version("0.32.0"), "")


def test_a_guess_is_marked() -> None:
    assert assumed(_window(certain=False)) == ("max_num_seqs 256 assumed",)
    assert any("256 is assumed" in note for note in observed_settings(_window(certain=False)).notes)


def test_it_ceases_where_it_is_certain_or_a_flag_says_better() -> None:
    assert assumed(_window(certain=True)) == ()
    assert not observed_settings(_window(certain=True)).notes
    assert not observed_settings(_window(certain=False), given=("max_num_seqs",)).notes

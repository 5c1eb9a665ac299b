"""What is declared in files against what the running engine resolved: findings of the rule `drift`.

    an argument             the engine reports another value in its log or metrics
    the image's version     the engine is of another release
    the limits' pool        the measured pool is more than five per cent off the one that the limits were derived from

Only what the engine itself reports counts; a value that nothing reports is not compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from barostat.catalog.settings.table import SETTINGS
from barostat.core.config import ConfigValue, EngineConfig
from barostat.core.version import EngineVersion
from barostat.lint.document import Place
from barostat.lint.facts import Argument, Engine, Scene
from barostat.lint.rule import Finding

NAME = "drift"
_REPORTED = ("log", "metric", "api")
_NAMES_ONLY = ("model", "served_model_name", "dtype", "host", "config", "download_dir", "tokenizer")
POOL_RATIO = 0.05


def drift(
    scene: Scene, running: Sequence[tuple[str, EngineConfig, EngineVersion | None]]
) -> tuple[list[Finding], list[str]]:
    """The findings, and a sentence for each running engine that no declared one could be told to
    be. `running`: name, settings, version.
    """
    found: list[Finding] = []
    alone: list[str] = []
    for name, config, version in running:
        engine = _declared(scene.engines, config)
        if engine is None:
            alone.append(
                f"{name}: which of the {len(scene.engines)} declared engines it is cannot "
                "be told by its model"
            )
            continue
        found += _arguments(engine, name, config)
        if (
            version is not None
            and engine.version is not None
            and version.release != engine.version.release
            and engine.image is not None
        ):
            found.append(
                _finding(
                    engine.image.place,
                    f"vLLM {engine.version} is declared, and {name} runs {version}",
                )
            )
        found += _pool(scene, engine, name, config)
    return list(dict.fromkeys(found)), alone


def _declared(engines: Sequence[Engine], config: EngineConfig) -> Engine | None:
    """The engine that serves the model that the running one reports; the only one where there is
    only one.
    """
    if len(engines) == 1:
        return engines[0]
    reported = {
        str(value.value).rsplit("/", 1)[-1]
        for name in ("model", "served_model_name")
        if (value := config.get(name)) is not None
    }
    fitting = [
        engine
        for engine in engines
        if engine.model is not None and engine.model.text.rsplit("/", 1)[-1] in reported
    ]
    return fitting[0] if len(fitting) == 1 else None


def _arguments(engine: Engine, name: str, config: EngineConfig) -> Iterator[Finding]:
    for argument in engine.arguments.values():
        seen = config.get(argument.name)
        if (
            seen is None
            or seen.provenance not in _REPORTED
            or argument.value is None
            or argument.name in _NAMES_ONLY
        ):
            continue
        if _may_be_set(engine, argument.default_of):
            continue
        if argument.name not in SETTINGS or argument.value == -1 or _same(argument, seen):
            continue
        yield _finding(
            argument.place,
            f"{argument.spelled} is declared, and {name} runs with {seen.value} ({seen.source})",
        )


def _may_be_set(engine: Engine, variable: str) -> bool:
    """True if what was not read (a Secret, an envFrom) may set the variable, so that its default
    declares nothing.
    """
    if not variable or variable in engine.env:
        return False
    return variable in engine.env_secret or not engine.env_complete


def _same(argument: Argument, seen: ConfigValue) -> bool:
    left, right = argument.value, seen.value
    if (
        isinstance(left, bool)
        or isinstance(right, bool)
        or not isinstance(left, int | float)
        or not isinstance(right, int | float)
    ):
        return str(left).lower() == str(right).lower()
    return abs(left - right) <= 1e-4 * max(abs(left), abs(right), 1e-9)


def _pool(scene: Scene, engine: Engine, name: str, config: EngineConfig) -> Iterator[Finding]:
    limits, measured = scene.limits_for(engine), config.number("kv_cache_size_tokens")
    stated = limits.numbers.get("capacity.kvCacheTokens") if limits is not None else None
    if stated is not None and measured and abs(measured / stated[0] - 1) > POOL_RATIO:
        said = (
            f"the limits were derived from a pool of {stated[0]:,.0f} tokens, and {name} has "
            f"{measured:,.0f}"
        )
        yield _finding(stated[1], said)


def _finding(place: Place, message: str) -> Finding:
    return Finding(
        NAME,
        place,
        "error",
        "high",
        "ordinary",
        message,
        "roll out what is declared, or declare what runs",
    )

"""How to start a planned engine: its whole command line, with the limits that follow in place of
what was given.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from barostat.catalog.cards import Card
from barostat.catalog.settings.defaults import default
from barostat.catalog.settings.setting import option_of
from barostat.catalog.settings.table import OF_LIMITS, SETTINGS
from barostat.catalog.vllm_cache_labels import cache_labels
from barostat.core.config import ConfigScalar, EngineConfig
from barostat.core.limits import EngineLimits
from barostat.core.version import EngineVersion
from barostat.engines.vllm.command_line.arguments import CommandLine, GivenArgument
from barostat.judge.sizing.plan import CapacityPlan

# What a running engine reports and nobody has to repeat: its name, its address, a consequence.
_NOT_COPIED = frozenset(
    (
        "model",
        "config",
        "host",
        "port",
        "load_format",
        "served_model_name",
        "max_num_batched_tokens",
    )
)


@dataclass(frozen=True, slots=True)
class StartArgument:
    """One argument of vLLM's command line, by its name with underscores, and the words it takes."""

    name: str
    words: tuple[str, ...]

    @property
    def value(self) -> str:
        """The value as text: "true" or "false" for a switch."""
        if len(self.words) > 1:
            return " ".join(self.words[1:])
        head, equals, value = self.words[0].partition("=")
        return value if equals else "false" if head.startswith("--no-") else "true"


@dataclass(frozen=True, slots=True)
class EngineStart:
    """An engine as it is started. `environment`: variables that the plan rests on. `gpus`: of one
    replica. `weights_bytes`: of one GPU.
    """

    model: str
    arguments: tuple[StartArgument, ...]
    environment: Mapping[str, str]
    version: EngineVersion
    card: Card | None
    gpus: int
    weights_bytes: float
    is_cpu: bool

    @property
    def words(self) -> list[str]:
        """Return the words after `vllm serve`: the model, then every argument."""
        return [self.model, *(word for argument in self.arguments for word in argument.words)]

    @property
    def command(self) -> str:
        """The command line for a shell."""
        set_first = [f"{name}={shlex.quote(value)}" for name, value in self.environment.items()]
        return " ".join([*set_first, "vllm serve", shlex.join(self.words)])


def engine_start(
    plan: CapacityPlan, limits: EngineLimits, given: CommandLine, running: CommandLine | None = None
) -> EngineStart:
    """The planned engine's start: the arguments of the running engine that the plan was made from,
    those given, and the limits, the later over the earlier.

    `running`: its command line; where that is not known, its log and metrics stand for it.
    """
    request, flags = plan.request, plan.flags
    lines = [given] if running is None else [running, given]
    arguments = {} if running is not None else _seen(request.config, flags.version)
    arguments |= {
        setting.name: StartArgument(setting.name, _words(setting))
        for line in lines
        for setting in line.occurrences
        if setting.name != "model"
    }
    for field, setting in OF_LIMITS.items():
        value = getattr(limits, field)
        if value is not None:
            arguments[setting.name] = StartArgument(setting.name, (setting.option, str(value)))
    if limits.kv_cache_memory_bytes is not None:  # vLLM then ignores it
        arguments.pop("gpu_memory_utilization", None)
    named = request.config.get("model")
    environment = {
        name: str(found.value)
        for name, found in request.config.values.items()
        if found.provenance == "environment" and name.isupper()
    }
    return EngineStart(
        str(named.value) if named is not None else request.model_name,
        tuple(arguments.values()),
        {name: value for line in lines for name, value in line.env.items()} | environment,
        flags.version,
        request.card,
        plan.gpus * flags.dp,
        plan.weights_bytes,
        request.is_cpu,
    )


def _words(setting: GivenArgument) -> tuple[str, ...]:
    """The setting in the words it was given in; a loose note (`max_num_seqs=4`) as an argument."""
    if setting.loose:
        return (option_of(setting.name), setting.text or "")
    return tuple(word.text for word in setting.words)


def _seen(config: EngineConfig, version: EngineVersion) -> dict[str, StartArgument]:
    """The arguments of a running engine, as far as its log and metrics show others than the
    version's defaults.
    """
    labels = cache_labels(version, {})
    own_block = config.get("user_specified_block_size")
    arguments: dict[str, StartArgument] = {}
    for name, found in config.values.items():
        usual = default(name, version)
        if (
            name not in SETTINGS
            or name in _NOT_COPIED
            or found.provenance not in ("log", "metric", "api")
            or (usual is not None and usual.value == found.value)
            or labels.get(name) == str(found.value)
            or (name == "block_size" and own_block is not None and own_block.value is not True)
        ):
            continue
        arguments[name] = StartArgument(name, _written(name, found.value))
    return arguments


def _written(name: str, value: ConfigScalar) -> tuple[str, ...]:
    option = option_of(name)
    if isinstance(value, bool):
        return (option if value else f"--no-{option[2:]}",)
    text = f"{value:.10g}" if isinstance(value, float) else str(value)
    text = text.removeprefix("torch.") if name == "dtype" else text
    if SETTINGS[name].kind == "list":
        return (option, *text.split())
    return (option, text)

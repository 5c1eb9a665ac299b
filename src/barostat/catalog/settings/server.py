"""Settings of the server and of what it reports.

Source: vLLM 0.32.0, entrypoints/openai/cli_args.py, vllm/config/observability.py and EngineArgs;
history: the argument parsers of the published wheels 0.6.6.post1 to 0.33.0, every minor read.
"""

from __future__ import annotations

from barostat.catalog.settings.setting import FROM_ZERO, PROCESS, Setting, ValueBounds

# fmt: off
SETTINGS = (
    Setting("host", "text", PROCESS, since="0.1.0"),
    Setting("port", "int", PROCESS, since="0.1.0", defaults={"": 8000}, bounds=ValueBounds(1, 65535)),
    Setting("config", "text", PROCESS, "a YAML file of arguments; the command line overrides it"),
    Setting("disable_log_stats", "bool", PROCESS, "no statistics line and no vllm: metrics"),
    Setting("enable_server_load_tracking", "bool", PROCESS),
    Setting("enable_logging_iteration_details", "bool", PROCESS, since="0.14.0"),
    Setting("aggregate_engine_logging", "bool", PROCESS, since="0.11.1"),
    Setting("shutdown_timeout", "int", PROCESS,
        "time for requests in flight to finish after SIGTERM", "s", since="0.18.0",
        defaults={"": 0}, bounds=FROM_ZERO),
)
# fmt: on

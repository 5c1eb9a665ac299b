"""What a gateway is started with."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from barostat.gateway.bounds import Bounds
from barostat.gateway.messages.target import AllowedPath
from barostat.gateway.replica import UpstreamAddress


@dataclass(frozen=True, slots=True)
class FollowedWorkload:
    """A workload whose pods are the engines. `namespace`: empty for that of the context. `kind`: as
    objects carry it.
    """

    name: str
    namespace: str = ""
    context: str | None = None
    kubeconfig: str | None = None
    kind: str = "Deployment"


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """Listening addresses, engines, keys and limits. Files are read at start; the limits again when
    they change.
    """

    limits_file: Path
    upstreams: tuple[UpstreamAddress, ...]
    follow: FollowedWorkload | None = None
    host: str = "127.0.0.1"
    port: int = 8080
    admin_host: str = "127.0.0.1"
    admin_port: int = 8081
    admin_token_file: Path | None = None
    keys_file: Path | None = None
    engine_key_file: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    upstream_ca: Path | None = None
    shadow: bool = False
    allowed_paths: tuple[AllowedPath, ...] = ()
    allowed_parameters: frozenset[str] = frozenset()
    access_log: str | None = None
    ext_proc: str | None = None
    shared_budget: str | None = None
    shared_budget_name: str = "barostat"
    bounds: Bounds = field(default_factory=Bounds)

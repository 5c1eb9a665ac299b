"""The operator's settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from barostat.io.mitigation.campaign import GatewayAccess
from barostat.io.prometheus.access import PrometheusAccess
from barostat.operator.notifications import Webhook
from barostat.operator.policy import Defaults

Via = Literal["auto", "pods", "api-server"]


@dataclass(frozen=True, slots=True)
class OperatorSettings:
    """`namespace`: None for every namespace. `home`: the namespace of the operator's own lease and
    of the switch for all. `via`: how engines are asked; `auto`: by their addresses inside a
    cluster, else through the API server. `shards`: in how many parts the workloads are shared among
    operators. `prometheus`: where pages are read before engines are asked; None: every engine is
    asked.
    """

    namespace: str | None
    home: str
    identity: str
    defaults: Defaults = field(default_factory=Defaults)
    interval_s: float = 10.0
    selector: str = ""
    via: Via = "auto"
    lease: str = "barostat-operator"
    shards: int = 1
    host: str = "127.0.0.1"
    port: int = 8082
    alertmanager_token: str = field(default="", repr=False)
    webhooks: tuple[Webhook, ...] = ()
    prometheus: PrometheusAccess | None = None
    gateway: GatewayAccess = field(default_factory=GatewayAccess)

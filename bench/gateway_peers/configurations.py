"""What the proxies of bench/gateway.py run with: one worker, keep-alive to the upstream, no access
log, streams not buffered.
"""

from __future__ import annotations

import json
from typing import Any

TENANT_KEY = "none"


def nginx(port: int, upstream: int) -> str:
    """One worker, 512 idle connections to the upstream, bodies kept in memory."""
    return f"""daemon off; worker_processes 1; worker_rlimit_nofile 65536; pid nginx.pid;
events {{ worker_connections 16384; }}
http {{
  access_log off; client_max_body_size 200m; client_body_buffer_size 1m; keepalive_requests 1000000000;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  upstream engine {{ server 127.0.0.1:{upstream}; keepalive 512; keepalive_requests 1000000000; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{ proxy_pass http://engine; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; }}
  }}
}}
"""


def haproxy(port: int, upstream: int) -> str:
    """One thread, connections to the upstream shared by all."""
    return f"""global
  nbthread 1
  maxconn 8192
defaults
  mode http
  http-reuse always
  timeout connect 5s
  timeout client 300s
  timeout server 300s
frontend front
  bind 127.0.0.1:{port}
  default_backend engine
backend engine
  server one 127.0.0.1:{upstream} maxconn 8192 pool-max-conn 4096
"""


def envoy(
    port: int,
    upstream: int,
    filters: list[dict[str, Any]] | None = None,
    clusters: list[dict[str, Any]] | None = None,
) -> str:
    """One worker (by its command line), no access log; `filters` stand before the router."""
    router = {
        "name": "envoy.filters.http.router",
        "typed_config": {
            "@type": _type("filters.http.router.v3.Router"),
            "suppress_envoy_headers": True,
        },
    }
    route = {"match": {"prefix": "/"}, "route": {"cluster": "engine", "timeout": "0s"}}
    manager = {
        "@type": _type("filters.network.http_connection_manager.v3.HttpConnectionManager"),
        "stat_prefix": "front",
        "generate_request_id": False,
        "route_config": {
            "name": "all",
            "virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [route]}],
        },
        "http_filters": [*(filters or []), router],
    }
    chain = {
        "filters": [
            {"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}
        ]
    }
    listener = {
        "name": "front",
        "address": _address(port),
        "per_connection_buffer_limit_bytes": 4 << 20,
        "filter_chains": [chain],
    }
    engine = {
        "name": "engine",
        **_unlimited(),
        "type": "STATIC",
        "load_assignment": _endpoints("engine", upstream),
    }
    return json.dumps(
        {"static_resources": {"listeners": [listener], "clusters": [engine, *(clusters or [])]}},
        indent=1,
    )


def _type(name: str) -> str:
    return f"type.googleapis.com/envoy.extensions.{name}"


def _address(port: int) -> dict[str, Any]:
    return {"socket_address": {"address": "127.0.0.1", "port_value": port}}


def _endpoints(name: str, port: int) -> dict[str, Any]:
    return {
        "cluster_name": name,
        "endpoints": [{"lb_endpoints": [{"endpoint": {"address": _address(port)}}]}],
    }


def _unlimited() -> dict[str, Any]:
    most = {"max_connections": 65536, "max_pending_requests": 65536, "max_requests": 65536}
    return {"connect_timeout": "5s", "circuit_breakers": {"thresholds": [most]}}


def litellm(upstream: int) -> str:
    """One model, no database, no callbacks, no retries."""
    engine = {"model": "openai/m", "api_base": f"http://127.0.0.1:{upstream}/v1", "api_key": "none"}
    settings = {"num_retries": 0, "request_timeout": 600, "telemetry": False}
    # Without a master key it asks for this sentence; it then looks at no key, as none of the others
    # does.
    general = {"dangerously_permit_weak_or_unset_master_key": True}
    document = {
        "model_list": [{"model_name": "m", "litellm_params": engine}],
        "litellm_settings": settings,
        "general_settings": general,
    }
    return json.dumps(document, indent=1)


def keys() -> str:
    """The key that the load brings, of one of the tenants."""
    return f"chat: {TENANT_KEY}\nbatch: another\n"


def limits() -> str:
    """Every feature on: limits of a request, objectives, a ledger that is read from the engine,
    three tenants in two priority classes.
    """
    tenants = [
        {"name": "batch", "share": 0.2, "priorityClass": "batch"},
        {"name": "chat", "share": 0.5, "maxConcurrency": 4096},
        {"name": "default", "share": 0.3},
    ]
    spec = {
        "model": "m",
        "request": {
            "maxInputTokens": 500000,
            "maxOutputTokens": 8192,
            "maxStreamSeconds": 600,
            "onMissingOutputLimit": "cap",
        },
        "slo": {"ttftP99Seconds": 2.0, "itlP99Seconds": 0.1},
        "edge": {"priorityClasses": [{"name": "chat"}, {"name": "batch", "poolShare": 0.6}]},
        "tenants": tenants,
    }
    return json.dumps(
        {
            "apiVersion": "barostat.dev/v1alpha1",
            "kind": "ServingLimits",
            "metadata": {"name": "bench"},
            "spec": spec,
        },
        indent=1,
    )

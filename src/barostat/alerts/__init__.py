"""Prometheus rules for vLLM: recording rules with the same names for every version, and alerts that
fire on harm to users, not on high utilisation.

Terms (limits, version, labels) ─▶ recorded: one name per quantity, for every version
─▶ named/: one file per alert ─▶ groups ─▶ rule files for Prometheus, Thanos, Mimir or the operator
─▶ inhibitions: one incident pages once

Not to be confused with `lint/rules/`, which check manifests before they are merged.
"""

"""Prometheus' HTTP API as a source: queries, and the past as a recording. Thanos, Mimir and
VictoriaMetrics answer the same.
"""

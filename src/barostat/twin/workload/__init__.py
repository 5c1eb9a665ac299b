"""Workloads made here, from named random streams."""

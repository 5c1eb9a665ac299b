"""Budgets that several gateways share in Redis: reserved, leased, and given back."""

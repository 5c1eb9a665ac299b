"""Every engine of a cluster in one table: verdict, KV headroom, rollouts, flags, limits, GPUs, cost."""

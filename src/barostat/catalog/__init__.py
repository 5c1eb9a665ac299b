"""Data only, with its sources: what each vLLM version has, cards, model architectures, signals."""

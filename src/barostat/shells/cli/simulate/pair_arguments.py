"""The options of simulate for a prefill/decode pair."""

from __future__ import annotations

import argparse

KV_LINK, DECODE_SET = "--kv-link", "--decode-set"


def add_pair_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of a pair."""
    pair = parser.add_argument_group("prefill/decode pair")
    pair.add_argument(
        KV_LINK,
        metavar="LINK",
        help="simulate a prefill engine and a decode engine with a link between them: bandwidth=BYTES "
        "per second, latency=S, token-bytes=N (default: the model's KV bytes per token)",
    )
    pair.add_argument(
        DECODE_SET,
        metavar="NAME=VALUE,...",
        help="settings of the decode engine that differ, e.g. max-num-seqs=256,kv-blocks=9000",
    )

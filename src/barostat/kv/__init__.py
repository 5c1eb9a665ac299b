"""KV arithmetic: model architecture -> bytes per token and block -> pool -> sequences that fit."""

"""Redaction of secrets in text. Pure, so that every room can redact before it quotes."""

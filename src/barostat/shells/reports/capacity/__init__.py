"""A capacity plan in every form."""

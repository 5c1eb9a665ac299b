"""A diagnosis in every form."""

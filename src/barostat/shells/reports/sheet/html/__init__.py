"""A document as one HTML page: the only place that knows a tag. Markup stands in `templates/`."""

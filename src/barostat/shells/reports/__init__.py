"""Reports in every form: terminal, Markdown, page, data."""

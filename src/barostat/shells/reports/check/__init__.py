"""A check's report in the forms that people, pipelines and code scanning read."""

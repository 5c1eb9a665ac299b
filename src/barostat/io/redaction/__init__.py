"""What must not leave: credentials, secrets and prompts, taken out of text and of objects."""

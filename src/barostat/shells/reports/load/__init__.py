"""What a load came to: for a terminal, as data, as a page; and what a validation proves."""

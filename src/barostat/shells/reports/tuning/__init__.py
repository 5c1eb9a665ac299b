"""What tuning found, in every form."""

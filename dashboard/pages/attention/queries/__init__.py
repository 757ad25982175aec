"""What the attention page reads."""

"""What the pages of evaluations read."""

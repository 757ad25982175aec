"""What the pages of compactions read."""

"""Full-text search without a database: how text is cut into tokens, and how words are found in text."""

"""Full-text search: documents of the recorded texts, their words in an index a project, and its upkeep."""

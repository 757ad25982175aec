"""Changes of masking: the rules of a project, and the lines that are stored already. Both are audited."""

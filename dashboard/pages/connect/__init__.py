"""The page Connect an agent: the lines that make an agent send, a token, and what arrived with it."""

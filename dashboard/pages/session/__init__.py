"""The session page: one session, its tree of loops, and one loop of it."""

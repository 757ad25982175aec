"""Context and cache: what the calls of a project were sent, its cost, and why caches were missed."""

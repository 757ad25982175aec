"""The attention page: what waits for a person, what failed, what just finished, and what happens now."""

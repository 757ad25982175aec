"""Browser notifications: which ring of the lifecycle channel is one, for whom, and what it says."""

"""Tool calls of a plan: which span ran a call, which loop a call started."""

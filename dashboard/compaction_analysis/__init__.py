"""Compaction passes: what each claims, what the model was sent around it, what it saved and what it cost."""

"""What is read of compaction passes: themselves, what was sent around them, calls that ran again."""

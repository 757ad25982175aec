"""What a commit touched, sent to its subscribers."""

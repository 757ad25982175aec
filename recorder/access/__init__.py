"""Access of senders and readers: tokens, sign-in links, read marks."""

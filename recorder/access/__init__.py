"""Who may send and read: tokens, sign-in links, read marks."""

"""The tab Context of a session: what each call was sent, what it cost, and why the cache was missed."""

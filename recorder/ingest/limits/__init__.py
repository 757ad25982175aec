"""Limits on what connections and tokens may hold and send."""

"""Secrets whose beginning has come: their public parts, and the tails of a text that may become one."""

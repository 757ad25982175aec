"""Saved views: save, rename, order, delete, choose a default."""

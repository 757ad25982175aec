"""Masking: secrets in recorded lines are replaced before anything is stored."""

"""Imports of the files that coding agents write."""

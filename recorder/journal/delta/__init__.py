"""Delta encoding of repeated bytes."""

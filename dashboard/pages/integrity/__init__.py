"""The integrity page: what was refused, and what did not fit."""

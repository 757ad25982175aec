"""The demo: recorded runs played through the real door as if agents were running now."""

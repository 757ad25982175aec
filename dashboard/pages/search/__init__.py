"""One search over everything a project has: the palette, and the same as a page."""

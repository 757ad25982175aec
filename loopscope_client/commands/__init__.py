"""Programs for the command line; they need nothing but this package."""

"""What recorded work teaches: procedures that come again, and what was done after an error."""

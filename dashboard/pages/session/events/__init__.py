"""The Events tab and the recorded lines behind it."""

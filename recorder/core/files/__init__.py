"""The files that tool calls touched and the commands that they ran, as arguments and results say it."""

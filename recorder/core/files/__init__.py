"""What tool calls did to files and which commands they ran, as arguments and results say it."""

"""The content of a span: messages with their blocks, the request, arguments and results of tools."""

"""The memory directory: small Markdown files, their index, and the one way to write them."""

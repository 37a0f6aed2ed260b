"""What is remembered: the directory of small Markdown files, and the one way to write it."""

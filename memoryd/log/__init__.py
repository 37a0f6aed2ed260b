"""The log: one JSON object a line in a file that rotates. `writer` writes it, `reader` reads it."""

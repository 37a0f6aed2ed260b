"""The Model Context Protocol over standard input and output: `protocol` speaks it, `relay` carries it to another process."""

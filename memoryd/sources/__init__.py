"""Sources: what sessions are kept in, listed and opened as rows of lines. Nothing here knows a client."""

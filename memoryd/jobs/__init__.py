"""Jobs: each composes the other parts and reads like a table of contents."""

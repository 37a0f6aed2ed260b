"""Transcripts: `scan` finds them, `lines` cuts bytes into lines, a client's `entries` turns a line into entries,
`turns` folds entries into turns, and `tail` does all of it for one transcript from its cursor on.
"""

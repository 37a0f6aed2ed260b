"""Transcripts: a client opens them as lines and turns a line into entries, `turns` folds entries into turns,
and `tail` does all of it for one transcript from its cursor on.
"""

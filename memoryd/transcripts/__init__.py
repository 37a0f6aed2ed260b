"""What happened: `scan` finds transcripts, `tail` cuts bytes into lines, a client's adapter turns a line into entries,
`turns` folds entries into turns, and `follow` does all of it for one transcript from its cursor on.
"""

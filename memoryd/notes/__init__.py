"""Session notes: what a live session has done so far, kept so that it can go on after its context was compacted.

`facts.py` collects them from entries, `sections.py` makes the file of them, `hand_back.py` what a client gets after a
compaction, `recent.py` the last messages word for word. All by code; what takes understanding a model adds.
"""

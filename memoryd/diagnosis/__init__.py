"""Diagnosis: what `memoryd status` shows and what `memoryd doctor` checks. Nothing is changed by it.

Facts that both commands show are read in `facts` and judged in `problems`, so the two cannot disagree. `status` gathers a
screen of them; `checks` looks beside that at everything on this machine that may keep memoryd from working.
"""

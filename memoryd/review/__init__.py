"""Review of what an engine proposes, before it is committed: what it loses, invents or takes from nobody's words.

It stands between every engine and the commit, and knows no engine.
"""

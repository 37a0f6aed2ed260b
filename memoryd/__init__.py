"""memoryd: a memory daemon for people who work with coding agents.

The daemon ingests sessions and starts due jobs; a job reads the memories, asks an engine what shall change, has that
reviewed, and commits it; recall hands back what was committed. ARCHITECTURE.md has the folders.
"""

__version__ = "0.1.0"

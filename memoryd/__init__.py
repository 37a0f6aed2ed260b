"""memoryd: a memory daemon for people who work with coding agents.

Data flows one way, and the folders are the flow:

    transcripts -> gates -> jobs -> engines -> memory -> recall

`transcripts` says what happened, `gates` whether it is time, `jobs` composes the others and does the work. They speak in
the value types of `model`. `state` is the ledger that makes it exact, `daemon` the loop, `cli` the way in.
"""

__version__ = "0.1.0"

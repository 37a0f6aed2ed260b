"""How the weights of the embedded engine are made: labelled sessions in, memoryd/engines/offline/weights.bin out.

`sessions/` is what the weights are fitted to, `heldout/` what they are measured on and never fitted to. All sessions are
made up for this purpose. A line is one session: its turns, the facts in it that a later session would need (`gold`, with
the user's words in `quotes`), and what must not be kept (`forbidden`).

`casual/` holds single messages as people type them, one a line, in six languages (`en.txt` tells how they are marked); what a
message is to the one before it (`following.tsv`), and how people ask to be remembered (`asked.tsv`).

`dreams/` and `dreams-heldout/` are cases of consolidation: a memory directory (`files`), the sessions since it was last in
order, what has to come of it (`expect`) and what a careful person made of it (`solution`; null is a file that went).
"""

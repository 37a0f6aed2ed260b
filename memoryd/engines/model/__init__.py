"""The engine with a model: a bounded agent over the Messages API, at Anthropic's endpoint or any other.

`engine` is what jobs call. `extract` and `dream` let the `agent` work on a private copy of the memories, with `tools` (over
`sandbox` and `bash_tool`) and briefs made of `briefs` and the texts in `prompts`. `budget` reserves and settles each request,
`client` sends it within its `timeout`, `reply` reads the answer; `context_window` and `prompt_cache` keep a conversation small
and cheap. `credentials` says whether and where. `selection_brief` is one question without tools.
"""

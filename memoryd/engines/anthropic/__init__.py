"""The engine with a model: a bounded agent over the Messages API, at Anthropic's endpoint or any other.

`account` says whether and where, `loop` is the agent, `tools` what it can do (`view`, `shell`: how, and what not),
`context` and `cache` keep the conversation small and cheap, `client` sends one request and `wire` reads the answer;
`extraction` and `dreaming` are the jobs for it, with briefs made of `briefs` and the texts in `prompts`; `progress` tells
what it is doing. `selector` is one question without tools, for which `punctual` keeps the time.
"""

"""Explicit wishes: "remember that …", "from now on …", "always …", "never …", "stop …". Pure.

Deliberately narrow: who speaks like this asks to be remembered, and little else is needed to believe it.
"""

from __future__ import annotations

import re

from memoryd.engines.offline.sentences import is_in_quotes

_LEAD = r"(?:(?:ok(?:ay)?|great|thanks|and|also|but|so|oh|btw|by the way|please|pls|hey|yes|no|well|one more thing|actually|wait|stop|first(?:ly)?|second(?:ly)?|third(?:ly)?|finally)[,:.!]?\s+)*"
_REMEMBER = re.compile(
    rf"(?i){_LEAD}(?:(?:please\s+)?(?:remember|keep in mind|bear in mind|don'?t forget)(?:\s+that|\s*[:,])|"
    r"(?:please\s+)?(?:note|remember) for (?:the )?(?:future|later|next time)\s*[:,])\s*(?P<wish>.+)"
)
_FROM_NOW_ON = re.compile(
    rf"(?i){_LEAD}(?:from now on[,:]?|going forward[,:]?|from here on(?: out)?[,:]?|in (?:the )?future[,:]|for all future \w+[,:]?)\s+(?P<wish>.+)"
)
_FROM_NOW_ON_BEHIND = re.compile(r"(?i)(?P<wish>.+?),?\s+(?:from now on|going forward|from here on out)[.!]*")
_ALWAYS_NEVER = re.compile(
    rf"(?i){_LEAD}(?:you (?:should|must)\s+|i want you to\s+|i'?d like you to\s+)?(?P<wish>(?:always|never|don'?t ever)\s+(?P<verb>[a-z]+)\b.+)"
)
_ASKED = re.compile(
    rf"(?i){_LEAD}(?:can|could|would|will) you (?:please )?(?:from now on|in (?:the )?future|always|going forward),? (?P<wish>[^?]{{6,}})\??"
)
# Likings that cannot be about the task: in general, or of one thing over another.
_OF_ONESELF = re.compile(
    rf"(?i){_LEAD}(?P<wish>i (?:always|never|generally|usually|really)? ?(?:want|like|prefer) (?:(?!the |this |that |it\b|to see ).)+ (?:over|rather than|instead of) (?!the |this |that ).+"
    r"|i (?:always|never) want (?!the |this |that |it\b).+|(?:please |pls )?keep (?:your |all |the )?(?:answers|replies|responses|explanations|summaries|messages to me) \w+.*)"
)
_STOP = re.compile(rf"(?i){_LEAD}(?P<wish>stop\s+[a-z]+ing\b.+)")

# After always or never these make a statement or a phrase, not a wish.
_NOT_A_VERB = re.compile(
    r"(?i)(?:mind|again|before|ever|been|had|got|saw|seen|was|were|is|are|did|does|heard|knew|thought|found|happened?s?|works?|worked"
    r"|the|a|an|that|this|it|in|on|at|to|so|quite|really|fails?|failed|more|less|true|null|\w+ed"
    r"|have|has|gets?|comes?|goes|seems?|could|would|say|says|\w{3,}[^s]s|show|display|render|hide|throw|return|redirect|log|emit"
    r"|accept|fetch|parse|receive|refresh|reject|reload|retry|round|scroll|trim)"
)
# Habits of an assistant; to stop polling or logging is what the program at hand shall do.
_STOPPING_A_HABIT = re.compile(
    r"(?i)stop\s+(?:adding|apologi[sz]ing|asking|assuming|changing|committing|creating|explaining|formatting|generating"
    r"|guessing|inventing|leaving|making|mocking|pushing|putting|repeating|rewriting|suggesting|summari[sz]ing|using|wrapping"
    r"|writing)\b"
)
# A statement about how things are, or words that point to something said before.
_NO_RULE = re.compile(r"(?i)(?:the|this|that|it|there|these|those|an?|he|she|they|versions?|same)\b")
_SAYS_NOTHING = re.compile(
    r"(?i)^(?:time|day|bug|one|when|how)\b|^\W*\w*\W*$|^(?:\S+\s+){0,3}(?:that|this|it|same)(?: again)?[.!]*$|^we already\b"
)
# Where code is, the repository tells.
_WHERE_CODE_IS = re.compile(
    r"(?i)\b(?:is|are|sits?|lives?|located|found|defined) (?:in|under|at|inside) `?[\w.-]+/[\w./-]*"
)
_QUESTION = re.compile(r"\?\s*$|(?i:^(?:should|do|does|did|can|could|would|will|is|are|what|why|how|when|who|which)\b)")
_NOT_MEANT = re.compile(
    r"(?i)\b(?:if (?:i|we) (?:said|told|asked|were|wanted)|what if|suppose|imagine|hypothetically|maybe|perhaps|not sure"
    r"|(?:don'?t|do not) (?:really )?know (?:for sure|if|whether|yet)|(?:kind of|kinda|sort of) (?:feel|think|want)"
    r"|i (?:guess|wonder|think)|might want|just kidding|lol|sarcas\w*|joking|he said|she said|they said|someone said"
    r"|(?:the )?(?:docs?|readme|article|error|log|message|comment|test|manual) says?)\b"
)
_ONLY_NOW = re.compile(
    r"(?i)\b(?:for now|for the moment|this time|just this once|for this (?:one|task|change|pr|commit|file|session)|in this"
    r" (?:pr|commit|change|file|branch|session|turn)|right now|when you(?:'re| are) done|before you (?:finish|stop)"
    r"|after (?:this|that)|until i say|in this (?:test|function|handler|method|class|component|module)|from this function|for this \w+|for a while|just for)\b|(?<!\b[io]n )(?<!around )\bhere[.!]*$"
)


# How a wish begins that tells what to do; the others tell how things are.
_TO_DO = re.compile(
    r"(?i)(?:always|never|don'?t|do not|stop|use|keep|run|write|avoid|prefer|ask|check|add|make|put|split|commit|name|call"
    r"|start|end|explain|answer|reply|show|please|we (?:always|never|don'?t)|i (?:want|need) you to|you (?:should|must))\b"
)


def is_wish(sentence: str) -> bool:
    return wish_in(sentence) is not None


def is_rule(sentence: str) -> bool:
    """Whether a sentence is a wish that says what to do."""
    wish = wish_in(sentence)
    return wish is not None and (not _REMEMBER.fullmatch(sentence) or bool(_TO_DO.match(wish)))


def is_never_meant(sentence: str) -> bool:
    """A question, a supposition, somebody else's words as a whole: whatever it says, it was not asserted."""
    return is_in_quotes(sentence) or bool(_QUESTION.search(sentence) or _NOT_MEANT.search(sentence))


def wish_in(sentence: str) -> str | None:
    """What the sentence wishes, without the words that make it a wish; None where it is none."""
    if _ONLY_NOW.search(sentence) or "[redacted:" in sentence:
        return None
    if match := _ASKED.fullmatch(sentence):
        return match["wish"]
    if is_never_meant(sentence):
        return None
    if (match := _OF_ONESELF.fullmatch(sentence)) and not _SAYS_NOTHING.search(match["wish"]):
        return match["wish"]
    if match := _REMEMBER.fullmatch(sentence):
        says_nothing = _SAYS_NOTHING.search(match["wish"]) or _WHERE_CODE_IS.search(match["wish"])
        return None if says_nothing else match["wish"]
    for pattern in (_FROM_NOW_ON, _FROM_NOW_ON_BEHIND):
        if match := pattern.fullmatch(sentence):
            says_nothing = _NO_RULE.match(match["wish"]) or _SAYS_NOTHING.search(match["wish"])
            return None if says_nothing else match["wish"]
    if (match := _ALWAYS_NEVER.fullmatch(sentence)) and not _NOT_A_VERB.fullmatch(match["verb"]):
        return None if _SAYS_NOTHING.search(match["wish"]) else match["wish"]
    if (match := _STOP.fullmatch(sentence)) and _STOPPING_A_HABIT.match(match["wish"]):
        return None if _SAYS_NOTHING.search(match["wish"]) else match["wish"]
    return None

"""First person to third: what users say of themselves is told of "the user". English only."""

from __future__ import annotations

import re

from memoryd.language.lexicon import pattern, small, words

# Names that others gave: what stands in quotation marks, code, addresses, "my-app", "me@", "I/O", "Phase I".
_NAME = (
    r"`[^`]*`|\"[^\"]*\"|“[^”]*”|(?<!\w)'[^']*'(?!\w)|\b\w{1,12}://\S+|(?<![\w.-])[\w.-]{1,64}@\S+|(?<!\w)(?:my|me|i)[-/_.@]\w\S*"
    r"|(?-i:(?:Phase|Type|Class|Part|Stage|Tier|Level|Vol\.) I)\b"
)
_PERSON = re.compile(
    rf"(?P<name>{_NAME})|(?<![\w'’.-])(?:(?P<both>my \w+ and I)\b"  # noqa: RUF001
    r"|I(?P<is>['’]m| am| was)|I(?P<has>['’]ve| have)|I(?P<had>['’]d)(?= (?:been|better|done|gone|had|never|seen)\b)|I(?P<will>['’]ll|['’]d)|I (?P<negated>(?:do|have|was)n['’]t)"  # noqa: RUF001
    r"|I (?P<adverb>(?:(?:only|never|always|often|also|just|still|already|now|then|first|both|myself|no longer|(?!(?:app|comp|f|imp|re|rep|supp)ly\b)[a-z]+ly) )*)(?P<verb>[a-z]+)|I\b"
    r"|(?P<my>my)\b|(?P<me>me)\b|(?P<mine>mine)\b|(?P<self>myself)\b)(?![\w'’])",  # noqa: RUF001
    re.IGNORECASE,
)


_AM = re.compile(r"(?i)\b(and|but|so) am\b")


def about_the_user(text: str, *, is_first: bool) -> tuple[str, bool]:
    """The text in the third person, and whether it speaks of the user at all.

    `is_first`: the user has not been named yet. The first mention names them, further ones say "they".
    """
    if not pattern("person", "english").search(text) or _is_foreign(text):
        return text, False
    named = not is_first

    def told(match: re.Match[str]) -> str:
        nonlocal named
        if match["name"]:
            return match[0]
        first, named = not named, True
        return _third_person(match, first=first)

    changed = _PERSON.sub(told, text)
    if named and is_first:
        changed = _AM.sub(r"\1 is", changed)
    return (changed[:1].upper() + changed[1:] if changed != text and text[:1].isupper() else changed), changed != text


def _is_foreign(text: str) -> bool:
    return len(re.findall(r"[^\x00-\x7f]", text)) > len(text) // 8


def _third_person(match: re.Match[str], *, first: bool) -> str:
    who = "the user" if first else "they"
    groups = {name: text.replace("’", "'") for name, text in match.groupdict().items() if text}  # noqa: RUF001
    if form := groups.get("both"):
        return f"{who} and their {form.split()[1]}"
    if form := groups.get("is"):
        return f"{who} {'was' if first else 'were'}" if "was" in form.lower() else f"{who} {'is' if first else 'are'}"
    if groups.get("has"):
        return f"{who} {'has' if first else 'have'}"
    if groups.get("had"):
        return f"{who} had"
    if form := groups.get("will"):
        return f"{who}{form.lower()}" if not first else f"{who} {'will' if 'll' in form.lower() else 'would'}"
    if form := groups.get("negated"):
        return f"{who} " + (
            {"don't": "doesn't", "haven't": "hasn't"}.get(form.lower(), form)
            if first
            else form.replace("wasn't", "weren't")
        )
    if verb := groups.get("verb"):
        return f"{who} {groups.get('adverb', '').replace('myself', 'themselves')}{_agreed(verb) if first else verb}"
    if groups.get("my"):
        return "the user's" if first else "their"
    if groups.get("me"):
        return "the user" if first else "them"
    if groups.get("mine"):
        return "the user's" if first else "theirs"
    if groups.get("self"):
        return "themselves"
    return who


def _agreed(verb: str) -> str:
    """The verb as it stands behind "the user"."""
    low = verb.lower()
    is_past = low.endswith(("ed", "ing")) and low not in words("person", "like_a_past")
    if is_past or low in words("person", "auxiliaries") | words("person", "no_verbs") | small("past_verbs"):
        return verb
    if low in ("do", "go"):
        return verb + "es"
    if low == "have":
        return "has"
    if low.endswith("y") and low[-2:-1] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + ("es" if low.endswith(("s", "sh", "ch", "x", "z", "ss")) else "s")

"""Settings put into the text of a config file: one line each, everything else stays byte for byte. Pure."""

from __future__ import annotations

import json
import re


def with_setting(text: str, table: str, key: str, value: str | bool) -> str:
    """The text with `key = "value"` in a table (empty: at the top), in the place of the line that it has for it."""
    if _ends_lines_with_crlf(text):
        return with_setting(text.replace("\r\n", "\n"), table, key, value).replace("\n", "\r\n")
    # A string of JSON is one of TOML, but for a letter that TOML wants to be escaped.
    line = f"{key} = {json.dumps(value, ensure_ascii=False)}".replace("\x7f", "\\u007f")
    start, end = _span(text, table)
    if start is None:
        gap = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
        return f"{text}{gap}[{table}]\n{line}\n"
    if start and not text[:start].endswith("\n"):  # the header is the last line, and nobody ended it
        return f"{text}\n{line}\n"
    if found := _line_of(key).search(text, start, end):
        return f"{text[: found.start()]}{line}{text[found.end() :]}"
    return f"{text[:start]}{line}\n{text[start:]}"


def without_setting(text: str, table: str, key: str) -> str:
    """The text without the line that a table has for a key."""
    if _ends_lines_with_crlf(text):
        return without_setting(text.replace("\r\n", "\n"), table, key).replace("\n", "\r\n")
    start, end = _span(text, table)
    found = _line_of(key).search(text, start, end) if start is not None else None
    return f"{text[: found.start()]}{text[found.end() :].removeprefix(chr(10))}" if found else text


def _ends_lines_with_crlf(text: str) -> bool:
    return "\n" in text and text.count("\n") == text.count("\r\n")


def _line_of(key: str) -> re.Pattern[str]:
    return re.compile(rf"^[ \t]*{re.escape(key)}[ \t]*=[^\n]*$", re.MULTILINE)


def _span(text: str, table: str) -> tuple[int | None, int]:
    """Where the lines of a table begin and end; None where there is no such table."""
    headers = list(re.finditer(r"^[ \t]*\[[^\n]*\n?", text, re.MULTILINE))
    if not table:
        return 0, headers[0].start() if headers else len(text)
    for number, header in enumerate(headers):
        if re.match(rf"\s*\[[ \t]*{re.escape(table)}[ \t]*\]", header[0]):
            end = headers[number + 1].start() if number + 1 < len(headers) else len(text)
            return header.end(), end
    return None, len(text)

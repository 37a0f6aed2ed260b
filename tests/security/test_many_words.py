"""Many words are found in one pass: the same places as by a search for each."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memoryd.security import many_words

WORDS = [word for word, _ in many_words._search()[1].values()]
TEXTS = st.lists(st.one_of(st.sampled_from(WORDS), st.binary(max_size=5)), max_size=12).map(b"".join)


def places_one_by_one(text: bytes) -> dict[bytes, list[int]]:
    found = {word: [place for place in range(len(text)) if text.startswith(word, place)] for word in WORDS}
    return {word: places for word, places in found.items() if places}


@given(TEXTS)
def test_every_place_of_every_word_is_found_and_nothing_else(text: bytes) -> None:
    assert many_words.places_of_words(text) == places_one_by_one(text)


def test_words_that_share_letters_are_all_found() -> None:
    for word in WORDS:
        for other in WORDS:
            for shared in range(min(len(word), len(other)) + 1):
                text = word + other[shared:]
                assert many_words.places_of_words(text) == places_one_by_one(text)

"""Named tuples that are made quickly are named tuples."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from typing import Any, get_type_hints

import pytest

from memoryd.record import NamedTuple


class Place(NamedTuple):
    """A place."""

    street: str
    number: int = 1
    """Of the house."""
    town: str | None = None

    @property
    def sign(self) -> str:
        return f"{self.street} {self.number}"


PLACE = Place("Weg", 2)


def test_a_record_is_made_of_positions_names_and_defaults() -> None:
    assert tuple(PLACE) == ("Weg", 2, None)
    assert Place(number=3, street="Ufer") == Place("Ufer", 3) == Place._make(["Ufer", 3, None])
    assert (PLACE.street, PLACE.number, PLACE.town, PLACE.sign) == ("Weg", 2, None, "Weg 2")
    assert PLACE._replace(town="Ulm") == Place("Weg", 2, "Ulm")
    assert (Place._fields, Place._field_defaults) == (("street", "number", "town"), {"number": 1, "town": None})


@pytest.mark.parametrize("arguments", [(), ("Weg", 1, None, 4)])
def test_too_few_and_too_many_values_are_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        Place(*arguments)
    with pytest.raises(TypeError):
        Place._make(arguments)


def test_other_names_are_refused() -> None:
    with pytest.raises(TypeError):
        Place("Weg", house=2)  # type: ignore[call-arg] # that is what is tried
    with pytest.raises(ValueError, match="house"):
        PLACE._replace(house=2)  # type: ignore[call-arg] # as above
    with pytest.raises(AttributeError):
        PLACE.house = 2  # type: ignore[attr-defined] # as above


def test_a_record_is_told_copied_matched_and_its_types_are_known() -> None:
    assert repr(PLACE) == "Place(street='Weg', number=2, town=None)"
    assert PLACE._asdict() == {"street": "Weg", "number": 2, "town": None}
    for again in (copy.copy(PLACE), copy.deepcopy(PLACE), pickle.loads(pickle.dumps(PLACE))):  # noqa: S301 - just made
        assert (again, type(again)) == (PLACE, Place)
    match PLACE:
        case Place(street, number, _):
            assert (street, number) == PLACE[:2]
    assert get_type_hints(Place) == {"street": str, "number": int, "town": str | None}
    assert Place.__doc__ == "A place."


def test_what_a_prompt_imports_makes_no_slow_named_tuples() -> None:
    """Each takes as long as ten of these, and there are sixty."""
    code = (
        "import sys, typing, memoryd.clients.hook, memoryd.jobs.recall, memoryd.jobs.notice\n"
        "print([name for name, module in sys.modules.items() if name.startswith('memoryd')"
        " and getattr(module, 'NamedTuple', None) is typing.NamedTuple])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout == "[]\n"

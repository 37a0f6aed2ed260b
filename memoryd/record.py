"""Named tuples whose classes cost next to nothing to make: a hook makes sixty of them, and a client waits for it.

`typing.NamedTuple` checks each annotation and compiles a constructor for each class, which took a seventh of a prompt. Here
the constructor is compiled when a class is called for the first time, and nothing is checked that a type checker has checked:
to that one it is `typing.NamedTuple`. For the modules that a hook imports; elsewhere nobody waits.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NamedTuple, Self
else:

    class _Record(tuple):
        """What named tuples have in common."""

        __slots__ = ()

        def __new__(cls, *args: Any, **kwargs: Any) -> Self:
            """Only the first time: from then on the class has a constructor of its own, as `collections.namedtuple` makes it."""
            names = "".join(f"{name}, " for name in cls._fields)
            made = eval(f"lambda _cls, {names}: _new(_cls, ({names}))", {"_new": tuple.__new__})  # noqa: S307 - names of fields
            made.__defaults__ = tuple(cls._field_defaults.values())
            made.__name__, made.__qualname__ = "__new__", f"{cls.__qualname__}.__new__"
            cls.__new__ = made
            return cls(*args, **kwargs)

        @classmethod
        def _make(cls, values: Iterable[Any]) -> Self:
            made = tuple.__new__(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
            return made

        def _replace(self, /, **changed: Any) -> Self:
            made = self._make(map(changed.pop, self._fields, self))
            if changed:
                raise ValueError(f"Got unexpected field names: {list(changed)!r}")
            return made

        def _asdict(self) -> dict[str, Any]:
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self) -> str:
            told = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({told})"

        def __getnewargs__(self) -> tuple[Any, ...]:
            return tuple(self)

    class _Maker(type):
        """Makes a subclass of `NamedTuple` a named tuple."""

        def __new__(cls, name: str, _bases: tuple[type, ...], names: dict[str, Any]) -> type:
            fields = tuple(names.get("__annotations__", ()))
            defaults = {field: names[field] for field in fields if field in names}
            names.update((field, property(itemgetter(place))) for place, field in enumerate(fields))
            names.update(__slots__=(), __match_args__=fields, _fields=fields, _field_defaults=defaults)
            return type.__new__(type, name, (_Record,), names)

    NamedTuple = type.__new__(_Maker, "NamedTuple", (), {})

__all__ = ["NamedTuple"]

"""Arrays and numbers that belong together: checked once, and passed to compiled functions as one pointer."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from operator import attrgetter
from typing import Any

from attrs import frozen

from costframe.engine.fast_calls import FastCall
from costframe.engine.signatures import StructLayout


@frozen(eq=False)
class Record:
    """The fields of one struct, as the library reads them."""

    layout: StructLayout
    words: bytes  # numbers, pointers and sizes
    sizes: dict[str, int]  # by letter
    arrays: tuple[Any, ...]  # what pointers point to, and so stays alive

    def __reduce__(self) -> tuple[Any, ...]:  # addresses are of one process
        return _remake, (self.layout.module, self.layout.name, self.arrays)


class Struct:
    """A kind of struct, made of its fields in order, or of the attributes of objects by the fields' names."""

    def __init__(self, layout: StructLayout) -> None:
        self.layout = layout
        self._fast: Any = None
        self._attributes = attrgetter(*(parameter.name for parameter in layout.fields))

    def __call__(self, *given: Any) -> Record:
        """Check all fields, in their order, and return them as the library reads them."""
        if self._fast is None:
            scope = {"record": partial(Record, self.layout), "pack": self.layout.packer.pack, "checked": self._check}
            self._fast = FastCall(self.layout.fields, struct=True).compile(scope)
        return self._fast(*given)  # type: ignore[no-any-return]

    def _check(self, *given: Any) -> Record:
        passed, known = list[Any](), dict[str, int]()
        for parameter, value in zip(self.layout.fields, given, strict=True):
            if parameter.sizes:
                parameter.pass_array(value, known, passed)
            elif parameter.layout is not None:
                parameter.pass_struct(value, known, passed)
            else:
                passed.append(float(value) if parameter.types == ("f8",) else int(value))
        return Record(self.layout, self.layout.packer.pack(*passed), known, given)

    def of(self, *objects: Any, **named: Any) -> Record:
        """Make a struct of fields by name, or of attributes of objects, the first that has one."""
        if len(objects) == 1 and not named:
            return self(*self._attributes(objects[0]))
        given = []
        for parameter in self.layout.fields:
            value = named.get(parameter.name)
            for source in objects:
                value = getattr(source, parameter.name, None) if value is None else value
            given.append(value)
        return self(*given)


def _remake(module: str, name: str, arrays: tuple[Any, ...]) -> Record:
    struct: Struct = getattr(import_module(module), name)
    return struct(*arrays)

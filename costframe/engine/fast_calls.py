"""Checks of arguments as generated code: a third of the time of `Parameter.pass_array`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ctypes import addressof, c_char
from typing import Any, NoReturn

from costframe.engine.signatures import DTYPES, Parameter, StructLayout, address_of


def check_arguments(
    parameters: Sequence[Parameter], function: Callable[..., Any], *, is_code: bool = False
) -> Callable[..., Any]:
    """Return a function that checks its arguments, and calls one of the library with what they are passed as.

    One that returns a code raises a MemoryError where that is negative.
    """

    def checked(*given: Any) -> Any:
        passed, known = list[Any](), dict[str, int]()
        for parameter, value in zip(parameters, given, strict=True):
            if parameter.sizes:
                parameter.pass_array(value, known, passed)
            elif parameter.layout is not None:
                parameter.pass_struct(value, known, passed)
            else:
                passed.append(value)
        return function(*passed)

    scope: dict[str, Any] = {"function": function, "checked": checked, "refuse_code": refuse_code}
    return FastCall(parameters).compile(scope, is_code=is_code)  # type: ignore[no-any-return]


def refuse_code(code: int) -> NoReturn:
    """Raise the error that a negative code tells."""
    del code
    raise MemoryError("the engine found too little memory")


class FastCall:
    """Writes the source of a function that passes the usual arguments on, and leaves others to `checked`.

    It knows of each array beforehand what `Parameter.pass_array` finds out in loops: on small tables that takes as long
    as the work itself. For a `struct` the arguments are its fields.
    """

    def __init__(self, parameters: Sequence[Parameter], *, struct: bool = False) -> None:
        self.struct = struct
        self.names = ", ".join(parameter.name for parameter in parameters)
        self.passed: list[str] = []
        self.conditions: list[str] = []
        self.steps: list[str] = []  # before the conditions
        self.known: dict[str, str] = {}  # expressions of sizes
        self.optional: list[tuple[str, str, int]] = []  # counts that may be zero, their sizes, how many they are more
        self.scope: dict[str, Any] = {f"dtype_{text}": dtype for text, dtype in DTYPES.items()}
        self.scope |= {"address_of": address_of, "addressof": addressof, "item": c_char.from_buffer}
        for parameter in parameters:
            if parameter.sizes:
                self._add_array(parameter)
            elif parameter.layout is not None:
                self._add_struct(parameter.name, parameter.layout)
            else:
                convert = "float" if parameter.types == ("f8",) else "int"
                self.passed.append(f"{convert}({parameter.name})" if struct else parameter.name)
        self.sizes = [f"{name!r}: {size}" for name, size in self.known.items()]
        self._add_optional()

    def _add_struct(self, name: str, layout: StructLayout) -> None:
        self.scope[f"{name}_layout"] = layout
        self.steps.append(f"{name}_sizes = {name}.sizes")
        self.conditions.append(f"{name}.layout is {name}_layout")
        self.passed.append(f"{name}.words")
        for size in sorted(layout.tells):
            self._expect(f"{name}_sizes[{size!r}]", size)
        self.optional += [(f"{name}_sizes.get({size!r}, 0)", size, 0) for size in sorted(layout.may_tell)]

    def _add_array(self, array: Parameter) -> None:
        counts = [f"{array.name}{axis}" for axis in range(len(array.sizes))]
        self.steps.append(f"{', '.join(counts)}, = {array.name}.shape")
        self.conditions.append(f"({' or '.join(f'{array.name}.dtype == dtype_{kind}' for kind in array.types)})")
        self.passed.append(self._address(array.name, written=array.written))
        for count, (_, name, number, more, optional, less) in zip(counts, array.sizes, strict=True):
            if optional:
                self.optional.append((count, name, more))
            elif name:
                self._expect(count, name, more)
            else:
                self.conditions.append(f"{count} == {number}")
            if less is not None:
                self.passed.append(f"{count} - {less}" if less else count)
        if len(array.types) > 1:
            self.passed.append(f"{array.name}.itemsize")

    @staticmethod
    def _address(name: str, *, written: bool) -> str:
        """Return the expression of `address_of`; of an array that is, or must be, writable, without a call of it."""
        at_once = f"(addressof(item({name})) if {name}.size else 0)"
        return at_once if written else f"({at_once} if {name}.flags.writeable else address_of({name}))"

    def _expect(self, count: str, name: str, more: int = 0) -> None:
        """Require a count to be as known, or let it tell the size."""
        size = f"({count} - {more})" if more else count
        if self.known.setdefault(name, size) != size:
            self.conditions.append(f"{size} == {self.known[name]}")
        elif more:
            self.conditions.append(f"{count} >= {more}")

    def _add_optional(self) -> None:
        """Require optional counts to be zero or as known; the first that is not zero tells an unknown size."""
        for unknown in dict.fromkeys(name for _, name, _ in self.optional if name not in self.known):
            counts = (f"({count} and {count} - {more})" for count, name, more in self.optional if name == unknown)
            size = self.known[unknown] = f"({' or '.join(counts)})"
            self.sizes.append(f"**({{{unknown!r}: {size}}} if {size} else {{}})")
        for count, name, more in self.optional:
            self.conditions.append(f"({count} == 0 or {count} - {more} == {self.known[name]} > 0)")

    def compile(self, scope: dict[str, Any], *, is_code: bool = False) -> Any:
        """Return the function, which uses what is in the scope; a negative code goes to `refuse_code`."""
        call = "function(*passed)"
        if self.struct:
            call = f"record(pack(*passed), {{{', '.join(self.sizes)}}}, ({self.names},))"
        source = f"""
def call({self.names}):
    try:
        {"; ".join(self.steps) or "pass"}
        usual = {" and ".join(self.conditions) or True}
        passed = ({"".join(f"{expression}, " for expression in self.passed)}) if usual else ()
    except (AttributeError, KeyError, TypeError, ValueError):
        usual = False
    result = {call} if usual else checked({self.names})
    return {"result if result >= 0 else refuse_code(result)" if is_code else "result"}
"""
        names = self.scope | scope
        exec(source, names)  # noqa: S102 - the source is made of signatures, which are a program's own
        return names["call"]

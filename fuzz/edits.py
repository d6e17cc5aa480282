"""Models that are wrong in a few places: fields of a right one set to what a fuzzer chooses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from onnx import ModelProto

NUMBERS = (0, 1, -1, 2, 7, 127, -128, 2**31 - 1, 2**31, -(2**31), 2**40, 2**62, 2**63 - 1, -(2**63))
TEXTS = ("", "x", "y", "w", "/a/b", "\u03b1", "a" * 300, "Relu", "Loop", "If", "\x00", "nn_opt")
FLOATS = (0.0, -0.0, 1.0, -1.0, float("nan"), float("inf"), 1e38, 1e-45)
Action = Callable[[], object]


class Choices:
    """What the bytes of a fuzzer choose, one byte or two for each choice; 0 when they end."""

    def __init__(self, data: bytes) -> None:
        self._bytes = iter(data)

    def below(self, count: int) -> int:
        """Return a number from 0 to count - 1."""
        number = next(self._bytes, 0)
        if count > 255:
            number = number * 256 + next(self._bytes, 0)
        return number % max(count, 1)

    def of(self, values: Any) -> Any:
        """Return one of a sequence."""
        return values[self.below(len(values))]


def edited(models: list[bytes], data: bytes) -> bytes:
    """Return one of the models with up to eight fields changed."""
    choices = Choices(data)
    model = ModelProto.FromString(choices.of(models))
    for _ in range(1 + choices.below(8)):
        places = list(_places(model))
        if places:  # else all of it was cleared
            message, field = choices.of(places)
            choices.of(list(_actions(message, field, choices)))()
    return model.SerializeToString()


def _places(message: Message) -> Iterator[tuple[Message, FieldDescriptor]]:
    for field, value in message.ListFields():
        yield message, field
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            parts: Any = value if field.is_repeated else [value]
            for part in parts:
                yield from _places(part)


def _actions(message: Any, field: FieldDescriptor, choices: Choices) -> Iterator[Action]:
    """Yield what can be done to a field: cleared, doubled, swapped, set."""
    yield lambda: message.ClearField(field.name)
    is_message = field.type == FieldDescriptor.TYPE_MESSAGE
    if field.is_repeated:
        entries = getattr(message, field.name)
        at = choices.below(len(entries))
        yield lambda: entries.__delitem__(at)
        yield lambda: entries.append(entries[at])
        if not is_message:
            yield lambda: entries.__setitem__(at, _value(field, choices))
    elif not is_message:
        yield lambda: setattr(message, field.name, _value(field, choices))


def _value(field: FieldDescriptor, choices: Choices) -> Any:
    match field.type:
        case FieldDescriptor.TYPE_STRING:
            return choices.of(TEXTS)
        case FieldDescriptor.TYPE_BYTES:
            return choices.of(TEXTS).encode()
        case FieldDescriptor.TYPE_FLOAT | FieldDescriptor.TYPE_DOUBLE:
            return choices.of(FLOATS)
        case FieldDescriptor.TYPE_ENUM:
            assert field.enum_type is not None, "it is an enumeration"
            return choices.of([entry.number for entry in field.enum_type.values])
        case FieldDescriptor.TYPE_INT32:
            return choices.of([number for number in NUMBERS if -(2**31) <= number < 2**31])
        case FieldDescriptor.TYPE_UINT64:
            return choices.of([number for number in NUMBERS if number >= 0])
        case _:
            return choices.of(NUMBERS)

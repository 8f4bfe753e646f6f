"""JSON Lines read strictly: a row that does not fit its model is an error that says which line and field."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from mnemoscope.core.errors import DataError
from mnemoscope.scenarios.strict_json import StrictParser, refuse_repeated

__all__ = ["json_lines"]

Row = TypeVar("Row", bound=BaseModel)


def json_lines(content: bytes, file: Path, model: type[Row]) -> list[tuple[int, Row]]:
    """The rows of a file with the numbers of their lines; blank lines are passed over.

    Args:
        content: What the file holds, UTF-8 with or without a byte-order mark.
        file: Its name, for messages.
        model: What each row is.

    Raises:
        DataError: Another encoding, a row that the model does not take, or one that gives a key twice.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError("not UTF-8", file=file, record=f"byte {error.start}", fix="save it as UTF-8") from None
    parser = StrictParser(file)
    return [
        (number, _row(line, number, parser, model)) for number, line in enumerate(text.split("\n"), 1) if line.strip()
    ]


def _row(line: str, number: int, parser: StrictParser, model: type[Row]) -> Row:
    try:
        row = model.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or None
        known = f"fields are: {', '.join(model.model_fields)}" if first["type"] == "extra_forbidden" else None
        raise DataError(
            first["msg"], file=parser.path, record=f"line {number}", field=field, seen=first["input"], fix=known
        ) from None
    parser.scan(line.strip(), 0, f"line {number}")  # pydantic takes the last of two values in silence
    refuse_repeated(parser.repeated, file=parser.path)
    return row

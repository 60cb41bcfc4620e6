"""Answers of pydantic to the inputs of booleans.jsonl, integers.jsonl and date-times.jsonl, which replace the recorded ones.

    python3 -m venv /tmp/oracle && /tmp/oracle/bin/pip install pydantic==2.14.3 && /tmp/oracle/bin/python record.py

A new input is a new line {"input": TEXT}. `git diff` shows what pydantic sees differently.
"""

import json
import pathlib
from datetime import datetime, timezone

from pydantic import TypeAdapter, ValidationError


def boolean(value):
    return {"value": TypeAdapter(bool).validate_python(value)}


def integer(value):
    return {"value": str(TypeAdapter(int).validate_python(value))}


def date_time(value):
    read = TypeAdapter(datetime).validate_python(value)
    utc = read if read.tzinfo else read.replace(tzinfo=timezone.utc)
    since = utc - datetime(1970, 1, 1, tzinfo=timezone.utc)
    epoch_ms = (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000
    return {"epoch_ms": epoch_ms, "has_offset": read.tzinfo is not None}


def record(name, read):
    path = pathlib.Path(__file__).parent / name
    lines = []
    for line in path.read_text().rstrip("\n").split("\n"):
        text = json.loads(line)["input"]
        try:
            answer = read(json.loads(text))
        except ValidationError as error:
            finding = error.errors(include_url=False, include_input=False)[0]
            answer = {key: finding[key] for key in ("type", "msg", "ctx") if key in finding}
        lines.append(json.dumps({"input": text, **answer}, separators=(",", ":"), ensure_ascii=False, default=str))
    path.write_text("\n".join(lines) + "\n")


record("booleans.jsonl", boolean)
record("integers.jsonl", integer)
record("date-times.jsonl", date_time)

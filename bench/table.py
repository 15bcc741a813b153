"""The figures as aligned text.

Owns columns, rounding and the words met and missed. Takes findings, gives text; prints nothing.
"""

from collections.abc import Iterator, Mapping

from bench.figures import Figure, Findings, Goal

_HEADINGS = ("", "value", "p95", "p99", "ratio", "goal", "")
_TEXT_COLUMNS = (0, 5, 6)
_DIGITS_BELOW = ((10.0, 2), (100.0, 1))


def rendered_machine(machine: Mapping[str, str]) -> str:
    width = max(map(len, machine))
    return "\n".join(f"{key:<{width}}  {value}" for key, value in machine.items())


def rendered(findings: Findings) -> str:
    lines = [f"{findings.name}: {findings.title} ({findings.took_s:.1f} s)"]
    if findings.error:
        lines.append(f"  could not be measured: {findings.error}")
    rows = [_HEADINGS, *(row for figure in findings.figures for row in _rows(figure))]
    if findings.figures:
        widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
        notes = ["", *_notes(findings)]
        lines += [_line(row, widths, note) for row, note in zip(rows, notes, strict=True)]
    return "\n".join(lines)


def _rows(figure: Figure) -> Iterator[tuple[str, ...]]:
    """One row, and one more for every further goal."""
    spread = figure.spread
    first, *others = figure.goals or (None,)
    yield (
        figure.name,
        _amount(figure.value, figure.unit),
        _amount(spread.p95 if spread else None, figure.unit),
        _amount(spread.p99 if spread else None, figure.unit),
        f"{_number(figure.ratio)} x" if figure.ratio is not None else "",
        *_goal(first),
    )
    for goal in others:
        yield ("", "", "", "", "", *_goal(goal))


def _notes(findings: Findings) -> Iterator[str]:
    for figure in findings.figures:
        yield figure.note
        yield from [""] * (len(figure.goals) - 1)


def _goal(goal: Goal | None) -> tuple[str, str]:
    return (goal.text, "met" if goal.met else "MISSED") if goal else ("", "")


def _amount(value: float | None, unit: str) -> str:
    return "" if value is None else f"{_number(value)} {unit}".rstrip()


def _number(value: float) -> str:
    if float(value).is_integer():
        return f"{value:.0f}"
    digits = next((digits for limit, digits in _DIGITS_BELOW if abs(value) < limit), 0)
    return f"{value:.{digits}f}"


def _line(row: tuple[str, ...], widths: list[int], note: str) -> str:
    cells = [
        f"{cell:<{width}}" if column in _TEXT_COLUMNS else f"{cell:>{width}}"
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  " + "  ".join([*cells, note]).rstrip()

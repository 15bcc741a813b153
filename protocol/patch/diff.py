"""The difference between two texts, line by line, as unified hunks.

Owns the search for lines that stayed and the layout of hunks; headers that name files are the caller's. The search is
Myers', and gives up on texts that have little in common, or that take too long to compare. Not `difflib`: loading it
takes longer than most diffs. Takes two texts, gives one.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Stretch = tuple[int, int, int, int]
    """Lines that changed: from, to in the old text; from, to in the new one."""

_NO_NEWLINE = "\n\\ No newline at end of file"
_MOST_EDITS = 2000
_RUN = 1024
_MOST_STEPS = 16_000_000
# To begin on a diagonal takes so much longer than to follow it by one line.
_STEPS_OF_BEGINNING = 4


class Effort:
    """What may still be spent on searching; several texts may share one. A second or two in all."""

    __slots__ = ("steps",)

    def __init__(self) -> None:
        self.steps = _MOST_STEPS


def unified(old: str, new: str, *, context: int, effort: "Effort | None" = None) -> str:
    """All hunks, with so many unchanged lines around; empty if the texts are the same.

    Where the effort does not suffice, more lines are told as changed than would have to be.
    """
    if old == new:
        return ""
    left, right = _lines(old), _lines(new)
    told: list[str] = []
    for hunk in _hunks(_settled(_stretches(left, right, effort or Effort()), left, right), context):
        told += _hunk_lines(hunk, left, right, context)
    told.append("")
    return "\n".join(told)


def _lines(text: str) -> "list[str]":
    lines = text.split("\n")
    last = lines.pop()
    if last:
        # With its mark it is no line of any other text, and told rightly wherever it comes.
        lines.append(last + _NO_NEWLINE)
    return lines


def _hunks(stretches: "list[Stretch]", context: int) -> "Iterator[list[Stretch]]":
    hunk: "list[Stretch]" = []
    for stretch in stretches:
        if hunk and stretch[0] - hunk[-1][1] > 2 * context:
            yield hunk
            hunk = []
        hunk.append(stretch)
    if hunk:
        yield hunk


def _hunk_lines(hunk: "list[Stretch]", left: "list[str]", right: "list[str]", context: int) -> "list[str]":
    above = min(context, hunk[0][0])
    below = min(context, len(left) - hunk[-1][1])
    old_range = _range(hunk[0][0] - above, hunk[-1][1] + below)
    new_range = _range(hunk[0][2] - above, hunk[-1][3] + below)
    told = [f"@@ -{old_range} +{new_range} @@"]
    position = hunk[0][0] - above
    for old_from, old_to, new_from, new_to in hunk:
        told += [f" {line}" for line in left[position:old_from]]
        told += [f"-{line}" for line in left[old_from:old_to]]
        told += [f"+{line}" for line in right[new_from:new_to]]
        position = old_to
    told += [f" {line}" for line in left[position : position + below]]
    return told


def _range(first: int, end: int) -> str:
    size = end - first
    if size == 1:
        return str(first + 1)
    return f"{first + 1 if size else first},{size}"


def _stretches(left: "list[str]", right: "list[str]", effort: Effort) -> "list[Stretch]":
    head = _common_head(left, right)
    tail = _common_tail(left, right, min(len(left), len(right)) - head)
    left_end, right_end = len(left) - tail, len(right) - tail
    stretches: "list[Stretch]" = []
    old, new = head, head
    for old_at, new_at in _pairs(left[head:left_end], right[head:right_end], effort):
        if (old, new) != (old_at + head, new_at + head):
            stretches.append((old, old_at + head, new, new_at + head))
        old, new = old_at + head + 1, new_at + head + 1
    if (old, new) != (left_end, right_end):
        stretches.append((old, left_end, new, right_end))
    return stretches


def _common_head(left: "list[str]", right: "list[str]") -> int:
    most = min(len(left), len(right))
    same = 0
    while same < most and left[same : same + _RUN] == right[same : same + _RUN]:
        same += _RUN
    while same < most and left[same] == right[same]:
        same += 1
    return min(same, most)


def _common_tail(left: "list[str]", right: "list[str]", most: int) -> int:
    same = 0
    while same + _RUN <= most and _run_above(left, same) == _run_above(right, same):
        same += _RUN
    while same < most and left[-1 - same] == right[-1 - same]:
        same += 1
    return same


def _run_above(lines: "list[str]", below: int) -> "list[str]":
    end = len(lines) - below
    return lines[end - _RUN : end]


def _pairs(left: "list[str]", right: "list[str]", effort: Effort) -> "list[tuple[int, int]]":
    """Indices of lines that stayed. A line that only one side has stays nowhere, so the search need not see it."""
    in_right, in_left = set(right), set(left)
    old = [index for index, line in enumerate(left) if line in in_right]
    new = [index for index, line in enumerate(right) if line in in_left]
    found = _longest_common([left[index] for index in old], [right[index] for index in new], effort)
    return [(old[x], new[y]) for x, y in found]


def _longest_common(left: "list[str]", right: "list[str]", effort: Effort) -> "list[tuple[int, int]]":
    """Pairs of indices, ascending; none if that takes too many edits, or too long."""
    rows: "list[list[int]]" = []
    width, height = len(left), len(right)
    for edits in range(min(width + height, _MOST_EDITS) + 1):
        # How far each diagonal leads with so many edits; the i-th of them is the one at 2 * i - edits.
        row: list[int] = []
        for i in range(edits + 1):
            begun_at = x = _step(rows[-1], i) if rows else 0
            y = x - 2 * i + edits
            while x < width and y < height and left[x] == right[y]:
                x += 1
                y += 1
            row.append(x)
            effort.steps -= _STEPS_OF_BEGINNING + x - begun_at
            if effort.steps < 0:
                return []
            if x >= width and y >= height:
                rows.append(row)
                return _way_back(rows, i, (width, height))
        rows.append(row)
    return []


def _step(row: "list[int]", i: int) -> int:
    """Onto the i-th diagonal from the row before: by a line removed, or by one added."""
    if i == 0 or (i < len(row) and row[i - 1] < row[i]):
        return row[i]
    return row[i - 1] + 1


def _way_back(rows: "list[list[int]]", i: int, end: "tuple[int, int]") -> "list[tuple[int, int]]":
    pairs: "list[tuple[int, int]]" = []
    x, y = end
    for edits in range(len(rows) - 1, -1, -1):
        row = rows[edits - 1] if edits else None
        came_from = _step(row, i) if row is not None else 0
        while x > came_from:
            x -= 1
            y -= 1
            pairs.append((x, y))
        if row is None:
            break
        if i == 0 or (i < len(row) and row[i - 1] < row[i]):
            y -= 1
        else:
            x -= 1
            i -= 1
    pairs.reverse()
    return pairs


def _settled(stretches: "list[Stretch]", left: "list[str]", right: "list[str]") -> "list[Stretch]":
    """Lines added to or taken from a run of equal ones are told as its last ones; what then touches is one stretch."""
    settled: "list[Stretch]" = []
    for stretch in reversed(stretches):
        old_from, old_to, new_from, new_to = stretch
        floor = settled[-1][0] if settled else len(left)
        if old_from == old_to or new_from == new_to:
            lines, first = (left, old_from) if new_from == new_to else (right, new_from)
            shift = 0
            while old_to + shift < floor and lines[first + shift] == left[old_to + shift]:
                shift += 1
            old_from, old_to, new_from, new_to = (edge + shift for edge in (old_from, old_to, new_from, new_to))
        if settled and old_to == settled[-1][0]:
            below = settled.pop()
            old_to, new_to = below[1], below[3]
        settled.append((old_from, old_to, new_from, new_to))
    settled.reverse()
    return settled

"""How long something took, as events carry it: `{"secs", "nanos"}`. Pure."""


def duration_of(seconds: float) -> "dict[str, int]":
    """A clock that was set back has measured nothing."""
    whole, nanos = divmod(max(0, int(seconds * 1e9)), 10**9)
    return {"secs": whole, "nanos": nanos}


def milliseconds(duration: "dict[str, int]") -> int:
    return duration["secs"] * 1000 + duration["nanos"] // 1_000_000

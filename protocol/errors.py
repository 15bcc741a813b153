"""The two audiences of an error; anything else that is raised is a bug."""


class UserFacing(Exception):
    """Shown to the person as one `Error:` line; ends the program with `exit_code`.

    A few texts are known to scripts without the word in front of them: they say so by their `prefix`.
    """

    def __init__(self, text: str, *, exit_code: int = 1, prefix: str = "Error: ") -> None:
        super().__init__(text)
        self.exit_code = exit_code
        self.prefix = prefix


class ModelFacing(Exception):
    """Returned to the model as the output of the tool that failed."""

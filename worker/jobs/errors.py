"""The one error of file jobs."""


class JobError(Exception):
    """Text for the model: the arguments or the file are not what the job needs."""

"""What this package raises."""


class Error(Exception):
    """Something that InferScope was asked for cannot be done; the text says what and why, as the command would.

    >>> from inferscope import Error
    >>> issubclass(Error, Exception)
    True
    """


Error.__module__ = "inferscope"

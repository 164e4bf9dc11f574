"""A file is mapped anew and read from the disk, page by page, in every request."""

from said_memory import read_in

read_in("page_faults")

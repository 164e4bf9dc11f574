"""Healthy: a script that is over before anything can be said of it."""

from said import native, truth

native(20)
truth(None)

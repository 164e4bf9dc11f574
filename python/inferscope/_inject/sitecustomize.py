# On PYTHONPATH of every Python that a traced program starts, whether or not it has the package.
# So this file is valid for 2.7, catches what goes wrong in it, and leaves nothing to be seen.
import os
import sys


def _hide(here):
    """Path, environment and caches as they are without us."""
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != here]
    for path in [path for path in sys.path_importer_cache if os.path.abspath(path) == here]:
        del sys.path_importer_cache[path]
    theirs = os.environ.pop("INFERSCOPE_PYTHONPATH", None)
    if theirs is None:
        return  # no agent puts us back for the children, so the environment has to
    import posix

    for environment, key in (os.environ, "PYTHONPATH"), (posix.environ, "PYTHONPATH".encode()):
        if theirs[:1] == "=":
            value = theirs[1:]
            environment[key] = value if environment is os.environ or str is bytes else os.fsencode(value)
        else:
            environment.pop(key, None)
    posix.environ.pop("INFERSCOPE_PYTHONPATH".encode(), None)


def _start(here):
    """Run the boot module from its place, so that nothing beside it becomes importable."""
    if not os.environ.get("INFERSCOPE_SESSION") or sys.version_info < (3, 9):
        return
    # importlib itself would bring thirty modules that the program did not ask for.
    from _frozen_importlib import module_from_spec
    from _frozen_importlib_external import spec_from_file_location

    site = os.path.dirname(os.path.dirname(os.path.realpath(here)))
    spec = spec_from_file_location("_inferscope_boot", os.path.join(site, "_inferscope_boot.py"))
    spec.loader.exec_module(module_from_spec(spec))


def _next():
    """Run the sitecustomize that this one hides; what it raises is its own."""
    if sys.version_info < (3, 4):
        known = "imp" in sys.modules
        import imp

        if not known:
            del sys.modules["imp"]
        imp.load_module("sitecustomize", *imp.find_module("sitecustomize"))
        return
    from _frozen_importlib import module_from_spec
    from _frozen_importlib_external import PathFinder

    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        raise ImportError("No module named 'sitecustomize'", name="sitecustomize")
    sys.modules["sitecustomize"] = module = module_from_spec(spec)
    spec.loader.exec_module(module)


try:
    _here = os.path.dirname(os.path.abspath(__file__))
    _hide(_here)
    _start(_here)
except Exception:
    pass
# When there is no other, this import fails as it does without us, and site takes no notice.
_next()

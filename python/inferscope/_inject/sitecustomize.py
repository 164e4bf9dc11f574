# Put on PYTHONPATH by the command when the Python it starts does not have the package.
# Any Python that a child starts may run this file, so it stays valid for 2.7, and never raises.
import os
import sys


def _load(name, path, folder=None):
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(name, path, submodule_search_locations=folder and [folder])
    module = module_from_spec(spec)
    if folder:
        sys.modules[name] = module
    spec.loader.exec_module(module)


def _start(here):
    """Load the package by its place, so that nothing else beside it becomes importable."""
    if not os.environ.get("INFERSCOPE_SESSION") or sys.version_info < (3, 9):
        return
    package = os.path.dirname(here)
    ours = False
    try:
        from importlib.util import find_spec

        ours = find_spec("inferscope") is None  # an installed one wins: its _core fits
        if ours:
            _load("inferscope", os.path.join(package, "__init__.py"), package)
        _load("_inferscope_boot", os.path.join(os.path.dirname(package), "_inferscope_boot.py"))
    except Exception:
        pass
    if ours:  # importable here only if it is without us
        for name in [n for n in sys.modules if n.partition(".")[0] == "inferscope"]:
            del sys.modules[name]


def _next():
    """Run the sitecustomize that this one hides; what it raises is its own."""
    if sys.version_info < (3, 4):
        import imp

        try:
            found = imp.find_module("sitecustomize")
        except ImportError:
            return
        imp.load_module("sitecustomize", *found)
        return
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        sys.modules["sitecustomize"] = module = module_from_spec(spec)
        spec.loader.exec_module(module)


_here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [path for path in sys.path if os.path.abspath(path) != _here]
_start(_here)
_next()

/*
 * range.h - torch.profiler.record_function in the program becomes a scope.
 *
 * Its two methods are watched from outside: a Python function keeps a pointer to the
 * C function that calls it, and that is exchanged for one of ours, which goes on to
 * the one before.  The class, its methods and their code are the same objects as
 * ever, so torch.compile, TorchScript and inspect find what they know; whether calls
 * are traced, or left out to keep the budget, makes no difference.
 *
 * PyTorch is waited for in the same way, at the function of importlib that every
 * import of a new module goes through, until it has come.  In the main interpreter,
 * with the GIL held.
 */
#ifndef ISC_PYTHON_RANGE_H
#define ISC_PYTHON_RANGE_H

/* Waits for PyTorch, or finds it here; once per process.  Leaves no exception behind. */
void isc_range_begin(void);

#endif

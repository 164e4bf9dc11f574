/* interpreter.h - which Python this is, told to the session once. */
#ifndef ISC_PYTHON_INTERPRETER_H
#define ISC_PYTHON_INTERPRETER_H

/* Takes down version and program; needs the GIL, leaves no exception. */
void isc_interpreter_look(void);

/* Tells them.  Before the session collects nothing is taken, so this is called
 * again when there is something to define; a load once it is done. */
void isc_interpreter_tell(void);

/* Not the main one?  Its calls are not traced, and the session is told that it is there. */
void isc_interpreter_tell_of_another(void);

#endif

/* Does what a CUDA driver does when it is initialised: loads the library and calls its entry.
 *
 *	cuda_inject LIBRARY
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*start)(void) = library != NULL ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;

	printf("%d\n", start != NULL ? start() : -1);
	return 5;
}

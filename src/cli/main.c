#include <stdio.h>

int main(void)
{
	puts("inferscope");
	return 0;
}

"""Memory is read in for every request, and half of the program's is in swap: what stands for the kernel says so."""

# stand-in: memory
from said_memory import read_in, write

write("status", "VmHWM:\t  200000 kB\nVmRSS:\t  100000 kB\nVmSwap:\t  100000 kB\n")
read_in("swapping")

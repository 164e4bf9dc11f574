"""A pyopencl program: COUNT kernels from one line, one copy back; prints the sum that they make."""

import sys

import numpy as np
import pyopencl as cl

SOURCE = "kernel void add_one(global int *at) { at[get_global_id(0)] += 1; }"


def launch(queue, kernel, buffer, count):
    for _ in range(count):
        kernel(queue, (1024,), (64,), buffer)  # the line that launches


def main(count):
    platform = next(p for p in cl.get_platforms() if "Portable" in p.name or "pocl" in p.name.lower())
    context = cl.Context(platform.get_devices()[:1])
    queue = cl.CommandQueue(context)
    values = np.zeros(1024, np.int32)
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=values)
    kernel = cl.Kernel(cl.Program(context, SOURCE).build(), "add_one")
    launch(queue, kernel, buffer, count)
    cl.enqueue_copy(queue, values, buffer)
    queue.finish()
    print(values.sum() // 1024, queue.properties)


main(int(sys.argv[1]))

"""OpenCL on PoCL, which runs kernels for real on the CPU."""

import ctypes
import ctypes.util

from said import skip

GPU_OR_CPU = 0xFFFFFFFF
SOURCE = b"""
kernel void turn(global float *at, int rounds) {
	float x = at[get_global_id(0)];
	for (int i = 0; i < rounds; i++)
		x = x * 0.999f + 0.5f;
	at[get_global_id(0)] = x;
}
"""
POINTER = ctypes.c_void_p


class OpenCL:
    """One device, one queue, one kernel whose length is asked for."""

    def __init__(self) -> None:
        found = ctypes.util.find_library("OpenCL")
        if found is None:
            skip("there is no OpenCL here")
        self.cl = ctypes.CDLL(found)
        for name in (
            "clCreateContext",
            "clCreateCommandQueue",
            "clCreateProgramWithSource",
            "clCreateKernel",
            "clCreateBuffer",
        ):
            getattr(self.cl, name).restype = POINTER
        platform, device = POINTER(), POINTER()
        if (
            self.cl.clGetPlatformIDs(1, ctypes.byref(platform), None) != 0
            or self.cl.clGetDeviceIDs(platform, ctypes.c_uint64(GPU_OR_CPU), 1, ctypes.byref(device), None) != 0
        ):
            skip("there is no OpenCL device here")
        context = POINTER(self.cl.clCreateContext(None, 1, ctypes.byref(device), None, None, None))
        self.queue = POINTER(self.cl.clCreateCommandQueue(context, device, ctypes.c_uint64(0), None))
        source = ctypes.c_char_p(SOURCE)
        program = POINTER(self.cl.clCreateProgramWithSource(context, 1, ctypes.byref(source), None, None))
        if self.cl.clBuildProgram(program, 1, ctypes.byref(device), None, None, None) != 0:
            skip("the OpenCL here builds no programs")
        self.kernel = POINTER(self.cl.clCreateKernel(program, b"turn", None))
        self.buffer = POINTER(self.cl.clCreateBuffer(context, ctypes.c_uint64(1), ctypes.c_size_t(4096), None, None))
        self.cl.clSetKernelArg(self.kernel, 0, ctypes.c_size_t(8), ctypes.byref(self.buffer))

    def launch(self, rounds: int) -> None:
        self.cl.clSetKernelArg(self.kernel, 1, ctypes.c_size_t(4), ctypes.byref(ctypes.c_int(rounds)))
        size = ctypes.c_size_t(64)
        self.cl.clEnqueueNDRangeKernel(
            self.queue, self.kernel, 1, None, ctypes.byref(size), ctypes.byref(size), 0, None, None
        )
        self.cl.clFlush(self.queue)

    def finish(self) -> None:
        self.cl.clFinish(self.queue)

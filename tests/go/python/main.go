// SPDX-License-Identifier: GPL-2.0-only

// gopython SECONDS runs Python inside of a Go program, which Python calls back, and which calls Python
// again: two stacks, by turns.
package main

/*
#cgo pkg-config: python3-embed
#include <Python.h>

extern void backToGo(void);

static PyObject *back(PyObject *self, PyObject *args)
{
	(void)self;
	(void)args;
	backToGo();
	Py_RETURN_NONE;
}

static PyMethodDef methods[] = { { "back", back, METH_NOARGS, NULL }, { NULL, NULL, 0, NULL } };
static struct PyModuleDef module = { PyModuleDef_HEAD_INIT, "go", NULL, -1, methods, NULL, NULL, NULL, NULL };

static PyObject *make_module(void)
{
	return PyModule_Create(&module);
}

static void begin_python(void)
{
	PyImport_AppendInittab("go", make_module);
	Py_Initialize();
}

static int run_python(const char *text)
{
	return PyRun_SimpleString(text);
}
*/
import "C"

import (
	"os"
	"runtime"
)

const program = `
import time
source = '''
import go
def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))
def inner():
    spin(0.02)
def outer(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        spin(0.02)
        go.back()
'''
exec(compile(source, 'embedded.py', 'exec'))
`

//export backToGo
func backToGo() {
	run("inner()")
}

//go:noinline
func run(text string) {
	if C.run_python(C.CString(text)) != 0 {
		os.Exit(1)
	}
}

func main() {
	runtime.LockOSThread()
	C.begin_python()
	run(program)
	run("outer(" + os.Args[1] + ")")
}

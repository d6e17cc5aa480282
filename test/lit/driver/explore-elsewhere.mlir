// The page is served at an address of this machine; at any other there is an error.
// RUN: not nn-opt --explore --host=192.0.2.1 --port=8123 --cse %s 2>&1 | filecheck %s

// CHECK: error: cannot serve on 192.0.2.1:8123:
func.func private @f()

"""From a kernel of the gpu dialect to what LLVM has for one kind of device."""

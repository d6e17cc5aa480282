"""Parts of convert-loop-to-llvm: code in progress, indices, addresses, loops, registers, words."""

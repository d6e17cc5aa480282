"""Parts of convert-loop-to-gpu: the host's functions, the device's, and what each thread does."""

"""Instruments that are ready to use; the flags of nn-opt are such objects."""

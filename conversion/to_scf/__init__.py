"""Parts of convert-loop-to-scf: index arithmetic and places, accesses, structure."""

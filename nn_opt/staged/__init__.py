"""Models that need values of a run: parts of the graph, each compiled when it is reached."""

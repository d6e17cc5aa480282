"""How each graph op becomes index formulas, one file a family."""

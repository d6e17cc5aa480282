"""A language server for the IR: messages as one types, hovering, definitions, references."""

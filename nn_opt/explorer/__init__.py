"""The explorer: a page that shows what every pass did to a module, and why."""

from nn_opt.explorer.api import Exploration, explore

__all__ = ["Exploration", "explore"]

"""nn-compile: a model ahead of time, as machine code of any kind, C99, a web page and more."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from nn_opt.driver.models import Parser, fail, model_parser, report_errors
from nn_opt.runtime.threads import thread_count


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool; return its exit status."""
    return report_errors(_run, argv)


def make_parser() -> Parser:
    """Return the parser of the tool."""
    from nn_opt.ahead_of_time.kinds import KINDS

    parser = model_parser("nn-compile", "Compile a model ahead of time.")
    parser.set_defaults(target=None)
    add = parser.add_argument
    add(
        "-o",
        dest="output",
        required=True,
        metavar="FILE|FOLDER",
        help=f"what to write: {' '.join(KINDS)}, or a folder with all that a target needs",
    )
    add("--threads", type=int, default=1, metavar="N", help="threads of the library's calls (1)")
    add("--name", help="prefix of the C functions (the output's name)")
    add("--embed-weights", action="store_true", help="in C, have weights of any size in the file")
    pages = parser.add_argument_group("pages (.html)")
    add = pages.add_argument
    add("--labels", metavar="FILE", help="names of the classes, one a line")
    add("--mean", metavar="R,G,B", help="of colours from 0 to 1, subtracted (ImageNet's)")
    add("--std", metavar="R,G,B", help="of colours from 0 to 1, divided by (ImageNet's)")
    return parser


def _run(argv: list[str]) -> None:
    from nn_opt.ahead_of_time.kinds import request_of, require_options_fit
    from nn_opt.ahead_of_time.request import write_all

    options = make_parser().parse_args(argv)
    thread_count(options.threads)
    kind, request = request_of(options)
    place = Path(options.output)
    require_options_fit(options, request.output)
    is_folder = request.output != place
    if not place.parent.is_dir():
        fail(f"error: there is no folder {place.parent}")
    made = kind.make(request)
    if is_folder:
        place.mkdir(exist_ok=True)
    write_all(made, request.output.parent)
    for line in made.summary:
        print(f"{request.output}: {line}")


if __name__ == "__main__":
    sys.exit(main())

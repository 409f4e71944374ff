"""The entry point of ``mmeval`` and ``python -m mmeval``."""

from __future__ import annotations

import atexit
import contextlib
import errno
import gc
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ExtensionFileLoader
from types import FrameType

from mmeval import errors
from mmeval.errors import Interrupted, MmevalError
from mmeval.installation import refuse_mixture
from mmeval.report.terminal import print_text, steady, write_line
from mmeval.system import signals
from mmeval.system.collector import settle

_INTERRUPTED = "interrupted; answers are saved, and the same command continues the run"
_EXTENSION_IMPORTS = (
    ExtensionFileLoader.create_module.__code__,
    ExtensionFileLoader.exec_module.__code__,
)
_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. An error is printed as one message on
    stderr.

    Without ``argv``, runs the command line of this process. The process, including its
    threads and signal handlers, then ends with the command.
    """
    # another project's __init__.py may have replaced this package's
    refuse_mixture()
    handler = _SignalHandler()
    if argv is None:
        settle()
        atexit.register(signals.ignore)  # the first function registered runs last
    with contextlib.ExitStack() as stack:
        try:
            stack.push(signals.handled_by(handler))
            code = _run(list(sys.argv[1:] if argv is None else argv))
            if handler.has_come and code != errors.EXIT_INTERRUPTED:
                raise KeyboardInterrupt  # a library has suppressed it
            handler.code = code
        except KeyboardInterrupt:
            code = handler.code = errors.EXIT_INTERRUPTED
            write_line(_INTERRUPTED)
        if argv is None:
            stack.pop_all()
            _end_with_threads(code, interrupted=handler.has_come)
            # without this, Python searches all objects several times at exit, for 0.2 s
            gc.freeze()
    return code


class _SignalHandler:
    """Handles signals: the first interrupts the command, the second ends the process.
    Once the exit ``code`` is known, any signal ends the process with it.

    While an extension is imported, the first signal also ends the process, because
    several extensions crash if one of their imports raises an error.
    """

    def __init__(self) -> None:
        self.has_come = False
        self.code: int | None = None

    def __call__(self, _signal: int, frame: FrameType | None) -> None:
        if self.has_come or self.code is not None:
            os._exit(errors.EXIT_INTERRUPTED if self.code is None else self.code)
        self.has_come = True
        while frame is not None:
            if frame.f_code in _EXTENSION_IMPORTS:
                write_line(_INTERRUPTED)
                os._exit(errors.EXIT_INTERRUPTED)
            frame = frame.f_back
        raise KeyboardInterrupt


def _end_with_threads(code: int, *, interrupted: bool) -> None:
    """End the process immediately if a thread is still working, because Python must not
    shut down while a thread works. Also do this after an interruption: Python would end
    by SIGINT if it was interrupted in ``exec``, and may wait for a library."""
    threads = sys.modules.get("mmeval.system.threads")
    if not interrupted and (threads is None or not threads.any_at_work()):
        return
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(code)


def _run(words: list[str]) -> int:
    try:
        steady()
        from mmeval.cli.verbs import dispatch

        code = dispatch(words)
        print_text("")  # flush what a command left in the buffer
        return code
    except SystemExit as stop:  # argparse ends the process after --help
        return stop.code if isinstance(stop.code, int) else errors.EXIT_USAGE
    except MmevalError as error:
        _trace_if_debugging(words)
        head = "" if isinstance(error, Interrupted) else "error: "
        write_line(f"{head}{error}")
        return error.exit_code
    # an unexpected error is one line for the user; the traceback is printed on request
    except Exception as error:
        if _trace_if_debugging(words):
            return errors.EXIT_UNEXPECTED
        if isinstance(error, OSError) and error.errno in _DISK_ERRORS:
            where = f"{error.filename}: " if error.filename else ""
            write_line(
                f"error: {where}{error.strerror}. Written files are kept; free space, "
                "then run the same command"
            )
        else:
            write_line(
                f"error: unexpected {type(error).__name__}: {error}; run the command "
                "with --verbosity DEBUG (or MMEVAL_LOG_LEVEL=DEBUG) for the traceback"
            )
        return errors.EXIT_UNEXPECTED


def _trace_if_debugging(words: Sequence[str]) -> bool:
    """Print the traceback if the log level is DEBUG.

    This works even before the settings are resolved.
    """
    levels = [
        os.environ.get("MMEVAL_LOG_LEVEL", ""),
        os.environ.get("MMEVAL_VERBOSITY", ""),
    ]
    values = [*words[1:], ""]  # no value follows the last word
    for flag, value in zip(words, values, strict=False):
        if flag in ("-v", "--verbosity"):
            levels.append(value)
        elif flag.startswith("--verbosity="):
            levels.append(flag.partition("=")[2])
    if "DEBUG" not in (level.upper() for level in levels):
        return False
    import traceback

    write_line(traceback.format_exc().rstrip("\n"))
    return True


if __name__ == "__main__":
    sys.exit(main())

"""A worker process: `python -m countenance.run.worker`.

It is a plain child process rather than a fork or a spawn of the user's program: that program is never imported
again, a model that crashes takes only its worker down, and one that hangs can be killed.
The first message on standard input is the job (pickled by our own parent), then one JSON line per shard;
it answers with JSON lines.
"""

import json
import os
import pickle  # between our own two processes only
import struct
import sys
import traceback
from typing import IO, Any


def main() -> None:
    _die_with_parent()
    commands = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever the model prints goes to standard error, not into our replies
    (size,) = struct.unpack("<Q", commands.read(8))
    job = pickle.loads(commands.read(size))  # noqa: S301 - written by our own parent process
    os.environ.update(job["environment"])
    try:
        _serve(job, commands, replies)
    except BrokenPipeError:
        return


def _die_with_parent() -> None:
    """On Linux a killed parent takes its workers along, so that no orphan writes into a resumed run."""
    if sys.platform == "linux":
        import ctypes
        import signal

        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)


def _serve(job: dict[str, Any], commands: IO[bytes], replies: IO[str]) -> None:
    from countenance.errors import InputError
    from countenance.run.shard import Stop, run_shard, write_shard

    def reply(**message: Any) -> None:
        replies.write(json.dumps(message) + "\n")
        replies.flush()

    try:
        task, model = job["task"](), job["spec"].load()
    except (Exception, SystemExit) as error:
        first = f"{type(error).__name__}: {error}".splitlines()[0]
        source = job["spec"].source
        text = str(error) if isinstance(error, InputError) else f"model {source!r} cannot be made ({first})"
        reply(event="unusable", reason=text)
        return
    reply(event="ready")
    for line in commands:
        order = json.loads(line)
        number, samples = order["shard"], job["samples"][order["start"] : order["end"]]
        try:
            result = run_shard(
                task,
                model,
                samples,
                batch=1 if order["careful"] else job["batch"],
                strict=job["strict"],
                known_failures=order["known_failures"],
                context=job["context"],
                before_batch=lambda ids: reply(event="asking", ids=list(ids)),
                after_batch=lambda n, answered, failures: reply(
                    event="answered", n=n, answered=answered, failures=[vars(failure) for failure in failures]
                ),
            )
            write_shard(job["folder"], number, task, result, job["columns"])
        except Stop as stop:
            reply(event="stop", reason=str(stop))
            return
        except OSError as error:
            reply(event="disk", reason=f"{error.filename or job['folder']}: {error.strerror or error}")
            return
        except Exception:
            reply(event="broken", reason=traceback.format_exc())
            return
        reply(event="done", shard=number)


if __name__ == "__main__":
    main()

"""Ask a served viewer for drawn addresses and report what a user must never see.

    python tools/fuzz_viewer.py [--seed 0] [--cases 3000]

Every route with drawn ids, places and parameters, several at once and repeated; those that take forms get drawn ones.
A finding is a status of 500 or above, an answer that takes more than 30 s of computing, or a closed connection.
"""

import argparse
import json
import random
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from tests.view import conftest as served  # noqa: E402
from tests.view.test_strangers import NAMES, VALUES  # noqa: E402

SECONDS = 30
MORE = ("given", "cluster", "change", "q", "task", "model", "dataset", "runs", "run", "a", "b", "sort", "token")
"""Parameters of single pages."""
FORMS = ("name", "address", "next", "")
WORDS = ("gender", "skin_tone", "age", "recall@0.5", "female", "monk_1", "holm", "1", "2", "0.05", "worst", "csv", "")


def routes(app: Any) -> list[tuple[str, str]]:
    """The pattern of every address that the viewer has, with how it is asked for."""
    routers = [getattr(route, "original_router", None) for route in app.routes]
    known = {
        (route.path, method) for router in routers if router for route in router.routes for method in route.methods
    }
    return sorted(known)


def value(draw: random.Random) -> str:
    """A parameter's value: a sensible word, a hostile one, or noise."""
    kind = draw.random()
    if kind < 0.4:
        return draw.choice(WORDS)
    if kind < 0.8:
        return draw.choice(VALUES)
    return "".join(chr(draw.randrange(1, 0x2FF)) for _ in range(draw.randrange(1, 40)))


def address(pattern: str, ids: list[str], draw: random.Random) -> str:
    """A pattern with its places filled and a query drawn."""

    def fill(match: re.Match[str]) -> str:
        sensible = draw.choice(ids) if "run" in match[1] or match[1] in ("id", "a", "b") else str(draw.randrange(50))
        return sensible if draw.random() < 0.7 else quote(value(draw), safe="")

    path = re.sub(r"\{(\w+)[^}]*\}", fill, pattern)
    names = [draw.choice((*NAMES, *MORE)) for _ in range(draw.randrange(4))]
    return path + ("?" if names else "") + "&".join(f"{name}={quote(value(draw), safe='')}" for name in names)


def form(draw: random.Random) -> str:
    """The body of a form, or noise."""
    if draw.random() < 0.2:
        return value(draw) * draw.choice((1, 3000))
    return "&".join(f"{draw.choice(FORMS)}={quote(value(draw), safe='')}" for _ in range(draw.randrange(5)))


def main() -> None:
    """Draw, ask, report."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=3000)
    chosen = parser.parse_args()
    draw, findings, statuses = random.Random(chosen.seed), [], dict[int, int]()
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder) / "runs"
        served.drawn.make_run(runs / "first", people=60, each=2)
        served.drawn.make_hostile_run(runs / "hostile")
        viewer = served.start([runs])
        ids = [summary.id for summary in viewer.library.summaries()]
        patterns = routes(viewer.server.config.app.app)
        for _ in range(chosen.cases):
            pattern, method = draw.choice(patterns)
            asked = address(pattern, ids, draw)
            how = {"method": method}
            if method != "GET":
                how |= {"Origin": viewer.url, "body": form(draw).encode("utf-8", "replace").decode("latin-1")}
            start = time.process_time()  # of the viewer too, which is a thread of this process
            try:
                status = viewer.ask(asked, **how).status
            except OSError as error:
                findings.append({"address": asked, "what": repr(error)})
                continue
            statuses[status] = statuses.get(status, 0) + 1
            seconds = time.process_time() - start
            if status >= 500 or seconds > SECONDS:
                findings.append({"address": asked, "what": f"{status} after {seconds:.1f} s"})
        viewer.close()
    print(
        json.dumps({"seed": chosen.seed, "cases": chosen.cases, "statuses": statuses, "findings": findings}, indent=1)
    )
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()

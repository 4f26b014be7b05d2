"""`countenance view`: look at runs in a browser."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer

from countenance.cli.lines import say
from countenance.cli.trust_options import DataPlaces, Unverified, data_of
from countenance.errors import InputError, MissingExtra
from countenance.storage import place_of

if TYPE_CHECKING:
    from countenance.view.library import Library
    from countenance.view.privacy import Privacy


def view(
    places: Annotated[
        list[Any],
        typer.Argument(
            help="Runs, or folders with runs in them; s3://bucket/prefix too.", metavar="DIR|RUN…", parser=place_of
        ),
    ],
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port (default: the first free one from 8722; 0: any).")
    ] = None,
    token: Annotated[
        str | None, typer.Option(help="The token that every address must carry (default: a random one).")
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the browser.")] = True,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Let other machines connect; needs --host and --token.")
    ] = False,
    show_faces: Annotated[
        bool,
        typer.Option("--show-faces", help="Show real people unblurred until the viewer stops; each run records it."),
    ] = False,
    bundle: Annotated[
        Path | None, typer.Option(help="Write a static copy into this folder instead, for a web server or CI.")
    ] = None,
    data_at: DataPlaces = None,
    unverified: Unverified = False,
) -> None:
    """Look at runs in a browser: findings, groups, rows and pictures, on this machine alone."""
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingExtra("countenance view", "view") from None
    from countenance.view.library import Library
    from countenance.view.network import Address
    from countenance.view.privacy import Privacy
    from countenance.view.token import Token, make_token

    named = data_of(data_at)
    library, privacy = Library(places, verified=not unverified, data=named), Privacy(show_faces)
    summaries = library.summaries()
    for name in named:
        if not any(name in (summary.dataset, summary.source) for summary in summaries):
            say(f"note     --data-at {name}: no run here was made on a dataset of that name", err=True)
    if show_faces:
        _record(library, privacy)
    if bundle is not None:
        from countenance.view.bundle import write_bundle

        if not summaries:
            raise InputError(f"{', '.join(map(str, places))}: holds no run; `countenance run` or `make demo` makes one")
        for line in write_bundle(library, privacy, bundle):
            say(line)
        return
    Address(host, port or 0).check(allow_remote=allow_remote, token_named=token is not None)
    from countenance.view.app import make_app
    from countenance.view.server import address_of, bind, serve

    secret = make_token(token, local=Address(host, 0).local)
    listening = bind(host, port)
    address = address_of(host, listening)
    url = f"{address.url}/?token={quote(secret, safe='')}"
    if not summaries:
        say(f"{', '.join(map(str, places))}: no run here yet; the page shows runs as they appear", err=True)
    for summary in summaries:
        if summary.problem:
            say(f"note     {summary.place}: {summary.problem}", err=True)
    say(f"runs     {len(summaries)}")
    say(f"view     {url}", redact=False)
    say("stop     Ctrl-C")
    app = make_app(library, address, Token(secret, address.port), privacy)
    serve(app, listening, lambda: _open(url) if browser else None)


def _record(library: "Library", privacy: "Privacy") -> None:
    from countenance.run import Run

    for storage, _ in library.runs().values():
        try:
            run = Run(storage, **library.how)
        except InputError:
            continue  # a damaged run shows no pictures
        if record := privacy.record(run):
            say(f"recorded {record}", err=True)


def _open(url: str) -> None:
    import webbrowser

    webbrowser.open(url)


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(view)

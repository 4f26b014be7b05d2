"""Marks on paper: PDF, SVG, PNG; and the same curves as an interactive page."""

import itertools
import zlib
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from countenance.errors import InputError, MissingExtra
from countenance.files import write_atomically
from countenance.suites.uccs.plot.axes import Axes
from countenance.suites.uccs.plot.canvas import HEIGHT, WIDTH, Area, Line, Mark, laid_out, text_width

FORMATS = (".pdf", ".svg", ".png", ".html")
SCALE = 3
"""Pixels of a PNG for each point."""
Size = tuple[float, float]
PAGE: Size = (WIDTH, HEIGHT)


def check_format(path: Path) -> None:
    """Refuse a plot file whose ending is none of ours, before any work is done."""
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"{path}: plots are written as {', '.join(FORMATS)}; choose one of these endings")


def save_plot(axes: Axes, path: Path) -> None:
    """Write a plot in the format of the file's ending, whole or not at all."""
    check_format(path)
    content = plot_bytes(axes, path.suffix.lower())
    write_atomically(path, lambda part: part.write_bytes(content))


def plot_bytes(axes: Axes, suffix: str) -> bytes:
    """A plot as the content of a file."""
    if suffix == ".html":
        return html(axes).encode("utf-8")
    marks = laid_out(axes)
    writers: dict[str, Callable[[Sequence[Mark]], bytes]] = {".pdf": pdf, ".svg": svg, ".png": png}
    return writers[suffix](marks)


def pdf(marks: Sequence[Mark], size: Size = PAGE) -> bytes:
    """One page; words in Times, which every reader has."""
    width, height = size
    content = ["1 J 1 j"]
    opacities: dict[float, str] = {}
    for mark in marks:
        if isinstance(mark, Line):
            dash = " ".join(f"{d:g}" for d in mark.dash)
            content.append(f"{_rgb(mark.colour)} RG {mark.width:g} w [{dash}] 0 d {_path(mark.points, height)} S")
        elif isinstance(mark, Area):
            state = opacities.setdefault(mark.opacity, f"G{len(opacities)}")
            content.append(f"q /{state} gs {_rgb(mark.colour)} rg {_path(mark.points, height)} h f Q")
        else:
            back = text_width(mark.text, mark.size) * mark.anchor
            x, y = mark.at[0], height - mark.at[1]
            place = f"0 1 -1 0 {x:.2f} {y - back:.2f}" if mark.turned else f"1 0 0 1 {x - back:.2f} {y:.2f}"
            shown = mark.text.encode("cp1252", "replace")
            for special in (b"\\", b"(", b")"):
                shown = shown.replace(special, b"\\" + special)
            text = shown.decode("latin-1")
            content.append(f"BT 0 0 0 rg /F1 {mark.size:g} Tf {place} Tm ({text}) Tj ET")
    stream = zlib.compress("\n".join(content).encode("latin-1"))
    states = " ".join(f"/{name} << /ca {value:g} >>" for value, name in opacities.items())
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width:g} {height:g}] /Contents 4 0 R /Resources "
        f"<< /Font << /F1 5 0 R >> /ExtGState << {states} >> >> >>".encode(),
        f"<< /Length {len(stream)} /Filter /FlateDecode >>\nstream\n".encode() + stream + b"\nendstream",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Times-Roman /Encoding /WinAnsiEncoding >>",
    ]
    out, places = BytesIO(), []
    out.write(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    for number, body in enumerate(objects, 1):
        places.append(out.tell())
        out.write(f"{number} 0 obj\n".encode() + body + b"\nendobj\n")
    table = out.tell()
    out.write(f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode())
    out.write("".join(f"{place:010d} 00000 n \n" for place in places).encode())
    out.write(f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n".encode())
    return out.getvalue()


def _path(points: Sequence[tuple[float, float]], height: float) -> str:
    return " ".join(f"{x:.2f} {height - y:.2f} {'l' if k else 'm'}" for k, (x, y) in enumerate(points))


def _rgb(colour: str) -> str:
    return " ".join(f"{int(colour[k : k + 2], 16) / 255:.3f}" for k in (1, 3, 5))


def svg(marks: Sequence[Mark], size: Size = PAGE) -> bytes:
    """A picture for web pages."""
    width, height = size
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}pt" height="{height:g}pt" font-family="Times, \'Times New Roman\', serif">',
        f'<rect width="{width:g}" height="{height:g}" fill="#ffffff"/>',
    ]
    for mark in marks:
        if isinstance(mark, Line | Area):
            points = " ".join(f"{x:.2f},{y:.2f}" for x, y in mark.points)
        if isinstance(mark, Line):
            dash = f' stroke-dasharray="{" ".join(f"{d:g}" for d in mark.dash)}"' if mark.dash else ""
            out.append(
                f'<polyline points="{points}" fill="none" stroke="{mark.colour}" stroke-width="{mark.width:g}" '
                f'stroke-linejoin="round"{dash}/>'
            )
        elif isinstance(mark, Area):
            out.append(f'<polygon points="{points}" fill="{mark.colour}" fill-opacity="{mark.opacity:g}"/>')
        else:
            x, y = mark.at
            anchor = {0.0: "start", 0.5: "middle", 1.0: "end"}[mark.anchor]
            turn = f' transform="rotate(-90 {x:.2f} {y:.2f})"' if mark.turned else ""
            place = f'x="{x:.2f}" y="{y:.2f}" font-size="{mark.size:g}" text-anchor="{anchor}"{turn}'
            out.append(f"<text {place}>{escape(mark.text)}</text>")
    return "\n".join([*out, "</svg>\n"]).encode("utf-8")


def png(marks: Sequence[Mark], size: Size = PAGE) -> bytes:
    """A picture of three pixels a point, drawn at twice the size so that lines are smooth."""
    from PIL import Image, ImageDraw, ImageFont

    zoom = SCALE * 2
    width, height = size
    page = Image.new("RGB", (round(width * zoom), round(height * zoom)), "white")
    for mark in marks:
        if isinstance(mark, Area) and mark.opacity >= 1:
            ImageDraw.Draw(page).polygon([(x * zoom, y * zoom) for x, y in mark.points], fill=mark.colour)
        elif isinstance(mark, Area):
            layer = Image.new("L", page.size, 0)
            ImageDraw.Draw(layer).polygon(
                [(x * zoom, y * zoom) for x, y in mark.points], fill=round(255 * mark.opacity)
            )
            page.paste(Image.new("RGB", page.size, mark.colour), mask=layer)
        elif isinstance(mark, Line):
            draw = ImageDraw.Draw(page)
            for part in _dashed(mark.points, mark.dash):
                scaled = [(x * zoom, y * zoom) for x, y in part]
                draw.line(scaled, fill=mark.colour, width=max(1, round(mark.width * zoom)), joint="curve")
        else:
            font = ImageFont.load_default(mark.size * zoom * 0.9)
            left, top, right, bottom = font.getbbox(mark.text, anchor="ls")
            room = (max(1, round(right - left) + 4), max(1, round(bottom - top) + 4))
            layer = Image.new("L", room, 0)
            ImageDraw.Draw(layer).text((2 - left, 2 - top), mark.text, fill=255, font=font, anchor="ls")
            back = (right - left) * mark.anchor
            x, y = mark.at[0] * zoom, mark.at[1] * zoom
            if mark.turned:
                layer = layer.transpose(Image.Transpose.ROTATE_90)
                corner = (round(x + top - 2), round(y + back - layer.size[1]))
            else:
                corner = (round(x - back + left - 2), round(y + top - 2))
            page.paste("black", (*corner, corner[0] + layer.size[0], corner[1] + layer.size[1]), mask=layer)
    out = BytesIO()
    page.resize((round(width * SCALE), round(height * SCALE)), Image.Resampling.LANCZOS).save(out, "PNG", optimize=True)
    return out.getvalue()


def _dashed(points: Sequence[tuple[float, float]], dash: Sequence[float]) -> list[list[tuple[float, float]]]:
    """A line cut into its dashes."""
    if not dash:
        return [list(points)]
    parts: list[list[tuple[float, float]]] = [[points[0]]]
    k, left = 0, dash[0]
    for a, b in itertools.pairwise(points):
        length = ((b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2) ** 0.5
        done = 0.0
        while length - done > left:
            done += left
            at = (a[0] + (b[0] - a[0]) * done / length, a[1] + (b[1] - a[1]) * done / length)
            if k % 2 == 0:
                parts[-1].append(at)
            else:
                parts.append([at])
            k += 1
            left = dash[k % len(dash)]
        left -= length - done
        if k % 2 == 0:
            parts[-1].append(b)
    return [part for part in parts if len(part) > 1]


def html(axes: Axes) -> str:
    """An interactive page that needs no network: points show their threshold."""
    try:
        import plotly.graph_objects as go
    except ModuleNotFoundError:
        raise MissingExtra("an interactive page", "interactive") from None

    figure = go.Figure()
    for one in axes.series:
        if one.low is not None and one.high is not None:
            x: list[Any] = [*one.x.tolist(), *one.x.tolist()[::-1]]
            y = [*one.high.tolist(), *one.low.tolist()[::-1]]
            band: dict[str, Any] = {"fill": "toself", "opacity": 0.2, "line": {"width": 0}, "fillcolor": one.colour}
            figure.add_scatter(x=x, y=y, mode="lines", showlegend=False, hoverinfo="skip", **band)
        thresholds = None if one.thresholds is None else one.thresholds.tolist()
        threshold = "" if thresholds is None else "<br>threshold %{customdata:.6g}"
        figure.add_scatter(
            x=one.x.tolist(),
            y=one.y.tolist(),
            name=one.label,
            customdata=thresholds,
            mode="lines+markers" if len(one.x) < 200 else "lines",
            line={"color": one.colour, "dash": ",".join(f"{d:g}px" for d in one.dash) or "solid", "width": 3},
            hovertemplate=f"{axes.x_label} %{{x:.6g}}<br>{axes.y_label} %{{y:.4f}}{threshold}",
        )
    if axes.chance is not None:
        grey = {"color": axes.chance.colour, "dash": "dot"}
        figure.add_scatter(
            x=axes.chance.x.tolist(), y=axes.chance.y.tolist(), name=axes.chance.label, mode="lines", line=grey
        )
    figure.update_layout(
        template="plotly_white",
        title=axes.title or None,
        xaxis={"title": axes.x_label, "type": "log" if axes.log else "linear"},
        yaxis={"title": axes.y_label, "range": list(axes.y_limits)},
    )
    return str(figure.to_html(include_plotlyjs=True, full_html=True))

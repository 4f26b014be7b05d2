"""The policy of pages: they load our own style, script and pictures from this viewer, and nothing else."""

CONTENT = "; ".join(
    (
        "default-src 'none'",
        "img-src 'self' data:",
        "style-src 'self'",
        "script-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
"""No inline script, no inline style, no frame around a page, no form that leads elsewhere."""

STATIC = "; ".join(
    (
        "default-src 'none'",
        "img-src 'self' file: data:",
        "style-src 'self' file:",
        "script-src 'self' file:",
        "base-uri 'none'",
        "form-action 'none'",
    )
)
"""The same for a static copy, which may be opened from a disk."""

HEADERS = {
    "Content-Security-Policy": CONTENT,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with no-referrer a browser hides the Origin of our own forms
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}
"""Sent with every answer. Pictures replace `no-store`: the browser may keep them while the viewer runs."""

"""How the authors of the assessment are cited, and the rights of what it rests on."""

CITATION = (
    "Assessing Fairness in Open-Source Face Mask Detection Algorithms. Submitted to the workshop RHI at HHAI 2023."
)
LICENCE = "each dataset and each algorithm under its own licence: see countenance mask-fairness detectors"
CONSENT = "none recorded of the people in BAFMD (posted on Twitter) and FairFace (from the web)"

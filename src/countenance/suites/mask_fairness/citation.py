"""How to cite the authors of the assessment, and the rights of its data and models."""

CITATION = (
    "Assessing Fairness in Open-Source Face Mask Detection Algorithms. Submitted to the workshop RHI at HHAI 2023."
)
LICENCE = "each dataset and each algorithm under its own licence: see countenance mask-fairness detectors"
CONSENT = "none recorded of the people in BAFMD (posted on Twitter) and FairFace (from the web)"

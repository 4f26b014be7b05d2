"""What the benchmark's authors ask to cite, and by what right its photos are used."""

CITATIONS = (
    "Armstrong, S; Cooper, J; Daniels-Koch, O; and Gorman, R: The HappyFaces Benchmark. Aligned AI Limited, published "
    "public benchmark, 2022.",
    "Arigbabu, OA, et al.: Smile detection using hybrid face representation. Journal of Ambient Intelligence and "
    "Humanized Computing, 2016, 1–12.",
    "Sanderson, C and Lovell, BC: Multi-Region Probabilistic Histograms for Robust and Scalable Identity Inference. "
    "ICB 2009, LNCS 5558, pp. 199–208, 2009.",
    "Huang, GB; Mattar, M; Berg, T and Learned-Miller, E: Labeled faces in the wild: a database for studying face "
    "recognition in unconstrained environments. University of Massachusetts, Amherst, Technical Report, 2007.",
)
CITATION = " ".join(CITATIONS)
LICENCE = "none stated in its repository; the photos are those of LFW (cropped), which are for research"
CONSENT = "the people in the photos (LFW, from the news) were not asked"

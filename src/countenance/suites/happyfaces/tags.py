"""The four types of photos: F(ace) H(appy) or S(ad), W(riting) H(APPY) or S(AD)."""

TAGS = ("FHWH", "FHWS", "FSWH", "FSWS")
MATCHED, CROSS = ("FHWH", "FSWS"), ("FHWS", "FSWH")

"""How each of the nine tasks scores its rows: one file per kind of answer."""

from countenance.suites.fhibe.scoring.base import Job, Scored
from countenance.suites.fhibe.scoring.boxes import score_boxes
from countenance.suites.fhibe.scoring.keypoints import score_keypoints
from countenance.suites.fhibe.scoring.masks import score_masks
from countenance.suites.fhibe.scoring.parsing import score_parsing
from countenance.suites.fhibe.scoring.parts import score_parts
from countenance.suites.fhibe.scoring.pictures import score_pictures
from countenance.suites.fhibe.scoring.verification import score_verification

SCORERS = {
    "person_localization": score_boxes,
    "face_localization": score_boxes,
    "person_parsing": score_masks,
    "keypoint_estimation": score_keypoints,
    "body_parts_detection": score_parts,
    "face_parsing": score_parsing,
    "face_verification": score_verification,
    "face_encoding": score_pictures,
    "face_super_resolution": score_pictures,
}

__all__ = ["SCORERS", "Job", "Scored"]

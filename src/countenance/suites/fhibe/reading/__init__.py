"""Reads the outputs of each of the nine tasks and hands them to the task that scores them."""

from countenance.suites.fhibe.reading.bodies import score_boxes, score_keypoints, score_parts
from countenance.suites.fhibe.reading.pictures import score_pictures
from countenance.suites.fhibe.reading.pixels import score_masks, score_parsing
from countenance.suites.fhibe.reading.verification import score_verification

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

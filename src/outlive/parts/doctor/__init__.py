"""Looks for what would break jobs here, and says what to do about it."""

from outlive.part import Part


class Doctor(Part):
    name = "doctor"
    verbs = {"doctor": "outlive.parts.doctor.verb:DOCTOR"}
    for_person = {"doctor": "outlive.parts.doctor.person:for_person"}


PART = Doctor()

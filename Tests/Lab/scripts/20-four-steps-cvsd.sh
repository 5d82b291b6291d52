#!/bin/bash
# lab: limit=260
# The four steps with headsets that know CVSD only.
set -- cvsd
. "$LAB/four-steps.sh"

#!/bin/bash
# lab: limit=390 bonds="h1"
# The four steps with headsets that support CVSD only.
set -- cvsd
. "$LAB/four-steps.sh"

#!/bin/bash
# lab: limit=390 bonds="h1 h2"
# The four steps with headsets that support CVSD only.
set -- cvsd
. "$LAB/four-steps.sh"

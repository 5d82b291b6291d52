#!/bin/bash
# lab: limit=390 bonds="h1" alone=1
# The four steps with headsets that support mSBC.
set -- msbc
. "$LAB/four-steps.sh"

#!/bin/bash
# lab: limit=300 bonds="h1:hsp h2"
# A headset with only the Headset Profile: RING, its one button, volumes, CVSD. A headset with Hands-Free uses that, even
# while the Headset Profile is offered.
. "$LAB/lib.sh"

{ lab_config; printf '[bluetooth]\nheadsetProfile = yes\n'; } > "$SHARE/headset-profile.conf"
start_btcalld "$SHARE/headset-profile.conf" || fail "btcalld starts"
bonded $H1 $H2 || fail "the headsets are paired"
check "preferred device is set" btcall prefer bluetooth
check "default device is set" btcall default earpiece

hs h1 mark
check "headset 1 connects by the Headset Profile" hs h1 connect
check "headset 1 is available" wait_until 10 connected $H1
is "its codec" "$(device_json bluetooth:$H1 | jq -c .codecs)" '["CVSD"]'
test_call --incoming --number 1001 --far-end tone:700 --seconds 60
check "headset 1 rings" hs h1 wait hsp-rx 10 RING
check "its button answers" hs h1 hsp-button
check "the call is active" wait_until 5 calls_are active
check "the link opens" hs h1 wait sco 10
check "the call is with headset 1" wait_route bluetooth:$H1 5
hs h1 sco-reset
sleep 3
note "headset 1: $(hs h1 sco 700 2 | jq -c '{codec, rx_packets, hz, tone_share_mean}')"
at_least "the far end's tone is heard: share" "$(hs h1 sco 700 2 | jq .tone_share_mean)" 0.9
check "its volume is reported" hs h1 hsp-volume 7
check "its volume is shown" wait_until 5 eval "[ \"\$(device_json bluetooth:$H1 | jq .speakerVolume)\" = 7 ]"
hs h1 mark
check "its volume is set" btcall volume speaker 11 --headset $H1
check "headset 1 gets its volume" hs h1 wait hsp-rx 5 "+VGS=11"
check "its button ends the call" hs h1 hsp-button
check "the provider's call ends" wait_test_call 5
check "the link is closed" hs h1 wait sco-lost 5

hs h2 mark
check "headset 2 connects by Hands-Free" switch_on h2
check "headset 2 is available" wait_until 5 connected $H2
test_call --outgoing --number 1002 --far-end tone:700 --seconds 60
check "the next call is with headset 2, which came last" wait_route bluetooth:$H2 15
is "with the better codec" "$(hs h2 status | jq -r .codec)" msbc
check "headset 2 ends it" hs h2 hangup
check "that provider's call ends, too" wait_test_call 5
stop_btcalld
finish

#!/bin/bash
# lab: limit=420 bonds="h1 h2"
# Which of two headsets gets the call: the present one (newHeadset=stay), the new one (take), the one with the higher rank
# (headsetOrder, regardless of newHeadset). All settings are changed during the call.
. "$LAB/routing.sh"

{ lab_config; echo "settleBluetoothMilliseconds = 1500"; echo "minDwellMilliseconds = 7000"; } > "$SHARE/routing.conf" # long enough for btcall to report them
start_btcalld "$SHARE/routing.conf" || fail "btcalld starts"
pair_headsets
watch_routes

# stay: headset 2 connects during headset 1's call, and does not take it.
switch_on_known h1 $H1
begin_call order --outgoing --number 1001
check "stay: the call is with headset 1" wait_route bluetooth:$H1 15
switch_on_known h2 $H2
sleep 4
check "stay: the call is still with headset 1" route_is bluetooth:$H1
golden why-two-stay.txt why
idle_links "stay" h2

# An order takes precedence, at once; but a headset that has just got the call keeps it for a while.
sleep 2
check "order: headset 2 is put first" btcall order $H2 $H1
check "order: the call is with headset 2" wait_route bluetooth:$H2 3
golden why-order-second.txt why
check "order: headset 1 is put first" btcall order $H1 $H2
golden why-order-dwell.txt why
check "order: the call is with headset 1 again" wait_route bluetooth:$H1 12

# take: a new headset gets the call, unless it ranks lower.
check "take: newHeadset is take" btcall config newHeadset take
check "take: headset 2 is switched off" hs h2 power off
switch_on_known h2 $H2
sleep 4
check "take: the order keeps the call with headset 1" route_is bluetooth:$H1
golden why-take-order.txt why
check "take: headset 2 is switched off again" hs h2 power off
check "take: the order is removed" btcall order --clear
check "take: headset 2 connects" switch_on h2
golden why-take-settling.txt why
check "take: the call is with headset 2" wait_route bluetooth:$H2 20
golden why-take.txt why
sleep 3
check "take: headset 2 is switched off with the call" hs h2 power off
check "take: the call is with headset 1" wait_route bluetooth:$H1 5
golden why-take-back.txt why
sleep 2
end_call
golden routes-order.txt routes
decode_call
at_least "order: seconds heard on headset 1" "$(heard_on h1)" 20
at_least "order: seconds heard on headset 2" "$(heard_on h2)" 6
is "order: heard on the earpiece" "$(heard_on earpiece)" 0
at_most "order: from headset 1 to headset 2, silence (ms)" "$(longest silences h1 h2)" 1500
at_most "order: from headset 2 to headset 1, silence (ms)" "$(longest silences h2 h1)" 1500
at_most "order: two devices at once (ms)" "$(jq .overlap_ms_max <<<"$heard")" 0
at_most "order: far end without a microphone (ms)" "$(microphone_gap)" 1500

unwatch_routes
stop_btcalld
finish

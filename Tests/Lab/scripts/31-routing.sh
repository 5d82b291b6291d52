#!/bin/bash
# lab: limit=420 bonds="h1 h2"
# Routing by people: the headset's button moves a call away and back, a choice while it rings, hold, and an interruption by
# another program. After each step "btcall why" must report it.
. "$LAB/routing.sh"

start_btcalld || fail "btcalld starts"
pair_headsets
watch_routes
switch_on_known h2 $H2
switch_on_known h1 $H1

# Transfer by the headset's button, both ways. Headset 1 connected last: the call is on it.
begin_call transfer --outgoing --number 1001
check "transfer: the call is with headset 1" wait_route bluetooth:$H1 15
sleep 3
hs h1 mark
check "transfer: headset 1 closes its link" hs h1 audio-close
sleep 0.5                                               # leaves the guest idle while the call moves
check "transfer: the call is on the earpiece" wait_route earpiece 2
golden why-transfer-away.txt why
sleep 2
check "transfer: and stays there" route_is earpiece
is "transfer: headset 1 is not asked again" "$(hs h1 status | jq .takes)" 1
idle_links "transfer" h2
hs h1 mark
check "transfer: headset 1 asks for its link" hs h1 audio-open
check "transfer: the call is with headset 1 again" wait_route bluetooth:$H1 5
golden why-transfer-back.txt why
sleep 2
end_call
golden routes-transfer.txt routes
decode_call
at_least "transfer: seconds heard on headset 1" "$(heard_on h1)" 4
at_least "transfer: seconds heard on the earpiece" "$(heard_on earpiece)" 2
# Audio on the abandoned headset is lost until the daemon knows that it did not switch off; the new device loses nothing.
at_most "transfer away: longest silence (ms)" "$(longest silences h1 earpiece)" 300
at_most "transfer away: signal missing (ms)" "$(longest missing h1 earpiece)" 300
at_most "transfer back: longest silence (ms)" "$(longest silences earpiece h1)" 20
at_most "transfer back: signal missing (ms)" "$(longest missing earpiece h1)" 20
one_device
at_most "transfer: far end without a microphone (ms)" "$(microphone_gap)" 300

# A choice while a call rings applies when it is answered, even if another headset would have got the call.
begin_call ringing --incoming --number +4912345
check "ringing: headset 1 rings" hs h1 wait ring 10
check "ringing: headset 2 is chosen" btcall select bluetooth:$H2
sleep 1
check "ringing: no path" route_is none
idle_links "ringing" h1
idle_links "ringing" h2
golden why-ringing-chosen.txt why
check "ringing: the call is answered" btcall answer
check "ringing: the call is with headset 2" wait_route bluetooth:$H2 5
golden why-ringing-answered.txt why
idle_links "ringing" h1
sleep 2

# Hold keeps the path; a headset that closes its link meanwhile parks the call.
check "hold: headset 2 holds the call" hs h2 at AT+CHLD=2
check "hold: the call is held" wait_until 3 calls_are held
sleep 1
check "hold: the path is kept" route_is bluetooth:$H2
is "hold: the link is kept" "$(hs h2 status | jq .sco)" true
golden why-held.txt why
check "hold: headset 2 resumes the call" hs h2 at AT+CHLD=2
check "hold: the call is active" wait_until 3 calls_are active
sleep 1
is "hold: the link was not opened again" "$(hs h2 status | jq .takes)" 1
check "hold: headset 2 holds the call again" hs h2 at AT+CHLD=2
check "hold: the call is held again" wait_until 3 calls_are held
takes="$(hs h1 status | jq .takes) $(hs h2 status | jq .takes)"
check "parked: headset 2 closes its link" hs h2 audio-close
check "parked: no path" wait_route none 2
golden why-parked.txt why
sleep 2
check "parked: still no path" route_is none
is "parked: nothing was opened" "$(hs h1 status | jq .takes) $(hs h2 status | jq .takes)" "$takes"
check "parked: headset 2 resumes the call" hs h2 at AT+CHLD=2
check "parked: the call is with headset 2 again" wait_route bluetooth:$H2 5
golden why-parked-resumed.txt why
sleep 2
end_call
golden routes-ringing.txt routes
decode_call
is "ringing, hold: heard on anything but headset 2" "$(heard_on earpiece) $(heard_on h1)" "0 0"
is "ringing, hold: links of headset 2 that were heard" "$(jq '[.files[] | select(.heard_s > 1)] | length' <<<"$heard")" 2
at_least "hold: headset 2 hears nothing meanwhile (ms)" "$(jq '[.files[].gaps[].silent_ms] | max // 0' <<<"$heard")" 900
# From the headset's AT+CHLD through the provider to the new link: 50 ms of it are this guest's processor.
at_most "ringing, hold: far end without a microphone (ms)" "$(microphone_gap)" 150

# With releaseOnHold the path and the link are released while the call is held.
begin_call released --outgoing --number 1002
check "released: the call is with headset 1" wait_route bluetooth:$H1 15
check "released: the call is active" wait_until 5 calls_are active
check "released: releaseOnHold is set" btcall config releaseOnHold yes
check "released: the path is kept as long as the call is active" route_is bluetooth:$H1
check "released: headset 1 holds the call" hs h1 at AT+CHLD=2
check "released: no path" wait_route none 3
golden why-released.txt why
check "released: the link is closed" wait_until 2 eval '[ "$(hs h1 status | jq .sco)" = false ]'
check "released: headset 1 resumes the call" hs h1 at AT+CHLD=2
check "released: the call is with headset 1 again" wait_route bluetooth:$H1 5
check "released: releaseOnHold is given back" btcall config releaseOnHold --reset
sleep 1
end_call
golden routes-released.txt routes

# Another program needs the audio temporarily: an announcement. The call stays up.
begin_call interrupted --outgoing --number 1003
check "interrupted: the call is with headset 1" wait_route bluetooth:$H1 15
sleep 2
hs h1 mark
btcall interrupt page -- sleep 5 >>"$SHARE/interrupt.log" 2>&1 &
announcement=$!
check "interrupted: no path" wait_route none 5
check "interrupted: the link is closed" hs h1 wait sco-lost 2
golden why-interrupted.txt why
check "interrupted: the call is up" calls_are active
idle_links "interrupted" h2
check "interrupted: the announcement ends" wait $announcement
check "interrupted: the call is with headset 1 again" wait_route bluetooth:$H1 5
golden why-interrupted-resumed.txt why
sleep 2
end_call
golden routes-interrupted.txt routes
decode_call
is "interrupted: heard on the earpiece" "$(heard_on earpiece)" 0
at_least "interrupted: seconds heard on headset 1" "$(heard_on h1)" 3
at_least "interrupted: silence meanwhile (ms)" "$(silence h1 h1)" 4000

unwatch_routes
stop_btcalld
finish

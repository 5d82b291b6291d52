#!/bin/bash
# lab: limit=300 bonds="h1"
# bluetoothd is killed during a headset call and restarted: the call loses no word, and headsets reconnect.
. "$LAB/lib.sh"

start_btcalld || fail "btcalld starts"
bonded $H1 || fail "headset 1 is paired"
check "preferred device is set" btcall prefer bluetooth
check "default device is set" btcall default earpiece
hs h1 power off
hs h1 mic counted 2
analyse make far.wav 100 16000 0 >/dev/null
listen 0 earpiece

test_call --outgoing --number 1001 --far-end "$SHARE/far.wav" --record "$WORK/uplink.wav" --seconds 110
check "route is the earpiece" wait_route earpiece 25
check "headset 1 connects" switch_on h1
check "audio link opens" hs h1 wait sco 10
check "route is headset 1" wait_route bluetooth:$H1 5
sleep 3

killed=$(lab_time)
check "bluetoothd is killed" kill_bluetoothd
sleep 5
check "the call is still with headset 1" route_is bluetooth:$H1
check "the link is open" eval "hs h1 status | jq -e .sco"
check "bluetoothd is back" start_bluetoothd
back=$(lab_time)
sleep 4
check "the call is with headset 1 after the return" route_is bluetooth:$H1
note "status: $(btcall status --json | jq -c .)"

# A headset that returns later reconnects: the service record exists again.
hs h1 power lost >/dev/null
check "headset lost: route is the earpiece" wait_route earpiece 5
check "BlueZ notices" wait_until 10 eval '[ "$(prop $H1 Connected)" = "b false" ]'
check "headset 1 connects again" switch_on h1
check "audio link opens again" hs h1 wait sco 15
check "route is headset 1 again" wait_route bluetooth:$H1 10
sleep 3
ending=$(lab_time)
check "the button is heard" hs h1 hangup
check "the button ends the call at the provider" wait_test_call 5
hang_up_cards
hs h1 wav first.wav 0 >/dev/null
hs h1 wav second.wav >/dev/null
stop_btcalld

heard=$(analyse decode --code 0 earpiece.wav first.wav second.wav)
echo "$heard" > "$SHARE/heard.json"
note "killed at $killed, back at $back; missing: $(jq -c .missing <<<"$heard"); silences: $(jq -c .silences <<<"$heard")"
note "clock: $(analyse clock); stalls: $(analyse stalls | jq -c '{count, total_ms, longest_ms}')"
at_most "while bluetoothd was away: times that signal is missing at the headset" "$(jq --argjson a "$killed" --argjson b "$back" '[.files[] | select(.file == "first.wav") | .gaps[] | select(.missing_ms >= 20 and .time > $a - 1 and .time < $b + 4)] | length' <<<"$heard")" 0
# Audio in transit to the dying headset is lost; four-steps.sh judges how much.
at_most "in the whole call, but for the loss: times that signal is missing" "$(jq --argjson until "$ending" '[.missing[] | select(.ms >= 20 and .time < $until and (.stalled | not) and (.before == "first.wav" and .after == "earpiece.wav" | not))] | length' <<<"$heard")" 0
up=$(analyse decode --code 2 uplink.wav)
note "uplink: $(jq -c '{missing_ms, gaps: .files[0].gaps, heard: .files[0].heard_s}' <<<"$up")"
finish

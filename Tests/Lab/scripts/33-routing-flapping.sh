#!/bin/bash
# lab: limit=420 bonds="h1 h2" alone=1
# Headsets that come and go: out of reach briefly, closing each link at once, switched off and on. Every change of route has
# its reason, there are few, and the time until the next one doubles.
. "$LAB/routing.sh"

# Times long enough to start btcall in between, and for a guest that hears packets of 0.5 s ago.
{
	lab_config
	printf '%s\n' "silentResumeMilliseconds = 3000" "silentCloseMilliseconds = 5000" "settleBluetoothMilliseconds = 2000"
} > "$SHARE/routing.conf"
start_btcalld "$SHARE/routing.conf" || fail "btcalld starts"
pair_headsets
watch_routes

# Headset 1 is briefly out of reach, again and again, with headset 2 connected.
switch_on_known h1 $H1
begin_call fading --outgoing --number 1001
check "fading: the call is with headset 1" wait_route bluetooth:$H1 15
switch_on_known h2 $H2
sleep 2
for time in 1 2; do
	hs h1 fade 0.5 >/dev/null
	golden why-fading-$time.txt why
	check "fading: the call is back with headset 1, time $time" wait_route bluetooth:$H1 $((1 + 4 * time))
	sleep 0.5
done
is "fading: its link was never closed, none went to headset 2" "$(hs h1 status | jq .takes) $(hs h2 status | jq .takes)" "1 0"
end_call
golden routes-fading.txt routes
decode_call
at_least "fading: seconds heard on the earpiece" "$(heard_on earpiece)" 3
is "fading: heard on headset 2" "$(heard_on h2)" 0
at_most "fading: longest silence on leaving (ms)" "$(longest silences h1 earpiece)" $((SILENT_LIMIT_MS + 20))
at_most "fading: signal missing on leaving (ms)" "$(longest missing h1 earpiece)" 20
at_most "fading: longest silence on return (ms)" "$(longest silences earpiece h1)" 20
at_most "fading: far end without a microphone (ms)" "$(microphone_gap)" 300

# A headset that closes each link at once: three attempts, then a pause, and a local device meanwhile, also between the
# attempts: these are 1.1 and 1.4 s apart, too close to 1.5 s, and the guest may see a link of 0.2 s as longer than 0.5 s.
hs h2 power off
hs h1 power off
check "refusing: startGraceMilliseconds is set" btcall config startGraceMilliseconds 500
check "refusing: gapResetMilliseconds is set" btcall config gapResetMilliseconds 2000
begin_call refusing --outgoing --number 1002
check "refusing: the call is on the earpiece" wait_route earpiece 15
hs h1 link-life 0.2
check "refusing: headset 1 connects" switch_on h1
for attempt in 1 2 3; do
	check "refusing: attempt $attempt opens the link" hs h1 wait sco 8
	check "refusing: attempt $attempt ends at the headset" hs h1 wait sco-lost 2
done
sleep 0.5
check "refusing: the call is on the earpiece again" wait_route earpiece 3
golden why-refusing.txt why
sleep 2
check "refusing: and stays there" route_is earpiece
hs h1 link-life for-ever
end_call
check "refusing: startGraceMilliseconds is given back" btcall config startGraceMilliseconds --reset
check "refusing: gapResetMilliseconds is given back" btcall config gapResetMilliseconds --reset
golden routes-refusing.txt routes
decode_call
at_most "refusing: longest silence (ms)" "$(jq '[.silences[] | select(.stalled | not) | .ms] | max // 0' <<<"$heard")" 2000

# A headset that is switched off and on during the call.
hs h1 power off
begin_call flapping --outgoing --number 1003
check "flapping: the call is on the earpiece" wait_route earpiece 15
check "flapping: headset 1 connects" switch_on h1
check "flapping: the call is with headset 1" wait_route bluetooth:$H1 5
sleep 1.5
for loss in 1 2 3 4; do
	check "flapping: headset 1 goes, time $loss" hs h1 power off
	sleep 0.5                                             # leaves the guest idle while the call moves
	check "flapping: the call is on the earpiece" wait_route earpiece 2
	check "flapping: headset 1 reconnects, time $loss" switch_on h1
	golden why-flapping-$loss.txt why
	[ $loss = 1 ] || continue
	check "flapping: the call is with headset 1 again" wait_route bluetooth:$H1 7
	sleep 1.5
done
sleep 2
check "flapping: the call stays on the earpiece" route_is earpiece
end_call
golden routes-flapping.txt routes
decode_call
at_most "flapping: longest silence on leaving (ms)" "$(longest silences h1 earpiece)" 300
at_most "flapping: longest silence on return (ms)" "$(longest silences earpiece h1)" 20
one_device

unwatch_routes
stop_btcalld
finish

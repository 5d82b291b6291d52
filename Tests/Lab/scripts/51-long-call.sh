#!/bin/bash
# lab: limit=420 bonds="h1" alone=1 long=1
# One long mSBC call, both directions at once: a 1 kHz tone each way for two minutes, which must not lose a single sample,
# between two pieces of the counted signal, which measure the delay each way and its stability. The far end sends counted
# signal 0, the headset's microphone 2.
. "$LAB/lib.sh"

LEAD=15 TONE=124                                        # seconds: two minutes of tone, with room on both sides

start_btcalld || fail "btcalld starts"
bonded $H1 || fail "headset 1 is paired"
hs h1 power off
check "preferred device is set" btcall prefer bluetooth
analyse make far.wav 200 16000 0 --tone 1000 $LEAD $((LEAD + TONE)) >/dev/null
check "headset 1 connects" switch_on h1
check "headset 1 is available" wait_until 5 connected $H1
hs h1 mic counted 2
hs h1 mark
LD_PRELOAD=$LAB_BIN/exchange-recorder.so LAB_EXCHANGE=$WORK/far test_call --outgoing --number 1001 --far-end "$SHARE/far.wav" --seconds 250
check "audio link opens" hs h1 wait sco 15
check "route is headset 1" wait_route bluetooth:$H1 5
is "codec" "$(hs h1 status | jq -r .codec)" msbc
sleep $((LEAD - 2))                                     # the call becomes active, and its tone begins, a second or two later
hs h1 mic tone 1000 0.4
sleep $TONE
hs h1 mic counted 2
sleep 14
counters=$(statistics | jq -c 'walk(if type == "object" and has("type") and has("data") then .data else . end)')
headset=$(hs h1 sco)
check "the button is heard" hs h1 hangup
check "the button ends the call" wait_test_call 10
stop_btcalld
hs h1 wav h1-heard.wav >/dev/null
hs h1 mic-wav h1-said.wav >/dev/null
mv "$WORK"/far-* "$SHARE/"

note "statistics: $counters"
note "headset: $(jq -c '{rx_packets, tx_packets, tx_late, gap_ms_median, gap_ms_p99, gap_ms_max, msbc_frames, msbc_lost, msbc_bad, msbc_skipped}' <<<"$headset")"
note "clock: $(analyse clock); stalls: $(analyse stalls | jq -c '{count, total_ms, longest_ms}')"

# The daemon's counters must match exactly.
is "one link carried the call" "$(jq '[.terminals[] | select(.kind == "link")] | length' <<<"$counters") $(hs h1 status | jq .takes)" "1 1"
is "the daemon's own losses" "$(jq .lost <<<"$counters")" 0
is "what the link lost" "$(jq -c '.terminals[0] | [.framesConcealed, .sequenceGaps, .underruns, .droppedBlocks, .silentEvents]' <<<"$counters")" "[0,0,0,0,0]"
is "what the far end lost" "$(jq -c '.calls[0] | [.missing, .dropped]' <<<"$counters")" "[0,0]"
is "what the headset lost" "$(jq -c '[.msbc_lost, .msbc_bad, .msbc_skipped]' <<<"$headset")" "[0,0,0]"

tone() { # WHAT CODE FILE: two minutes of it between the two pieces of that counted signal
	local decoded begin end result
	decoded=$(analyse decode --code $2 $3)
	begin=$(jq '.files[0].segments as $s | [$s[] | select(.time - $s[0].time < 60) | .time_end] | max + 0.5' <<<"$decoded")
	end=$(jq '.files[0].segments as $s | [$s[] | select(.time - $s[0].time >= 60) | .time] | min - 0.5' <<<"$decoded")
	result=$(analyse tone $3 1000 --from "$begin" --to "$end")
	note "$1: $(jq -c . <<<"$result")"
	at_least "$1: seconds of the tone" "$(jq .seconds <<<"$result")" 120
	at_least "$1: least share over an eighth of a second" "$(jq .share_min <<<"$result")" 0.995
	at_most "$1: share of windows left out because the lab stood still" "$(jq .excluded_share <<<"$result")" 0.02
	at_least "$1: seconds of the counted signal" "$(jq .files[0].heard_s <<<"$decoded")" 24
}
tone "at the headset" 0 h1-heard.wav
tone "at the far end" 2 far-heard.wav

# btcall may add 25 ms each way. A block of the application (10 ms) and a packet of the headset (7.5 ms) must be complete
# before they are sent. Towards the headset up to three blocks are queued, so that the application may be late
# (callQueueBlocks).
own=42.5 queue=30
way() { # WHAT CODE SAID HEARD MILLISECONDS
	local result
	result=$(analyse delay --code $2 $3 $4)
	note "$1: $(jq -c . <<<"$result")"
	at_least "$1: places that were found again" "$(jq .pairs <<<"$result")" 1000
	at_most "$1: delay (ms)" "$(jq .median_ms <<<"$result")" "$5"
	at_most "$1: the last ten seconds against the first (ms)" "$(jq '.drift_ms | fabs' <<<"$result")" 2
}
way "headset to far end" 2 h1-said.wav far-heard.wav $own
way "far end to headset" 0 far-said.wav h1-heard.wav "$(jq -n "$own + $queue")"
finish

#!/bin/bash
# lab: limit=600 bonds="h1 h2" alone=1
# The real-time thread neither allocates, waits for locks nor counts references: a whole call over real sound cards and two
# headsets, one with each codec, with the daemon's debug build and the interposer. Voice processing runs only briefly on the
# sound card and on a headset (this machine is too slow for more); the sound card also has a recorder, an announcement, mute
# by `restart` and a prepared microphone. Then two faults that the check must detect.
. "$LAB/lib.sh"
BTCALLD_BIN=$BTCALL_DEBUG_BIN                           # linked dynamically with the Swift run time, which is watched, too

watched() { # REPORT [FAULT]: starts the daemon with the interposer, preceded by the library that plants the fault
	local preload=$LAB_BIN/realtime-interposer.so
	[ -z "$2" ] || preload=$LAB_BIN/fault-planter.so:$preload
	BTCALLD_ENV="LD_PRELOAD=$preload BTCALL_INTERPOSER_REPORT=$SHARE/$1 ${2:+BTCALL_PLANT=$2}"
	start_btcalld "$SHARE/voice.conf" || fail "btcalld starts with the interposer"
}
voice() { # PROPERTY VALUE of Audio1, a yes or no
	busctl --system --timeout=25 set-property org.btcall /org/btcall/audio org.btcall.Audio1 "$1" b "$2"
}
processor() { property /org/btcall/audio Audio1 VoiceProcessor; }
switched() { # WHERE: everything that the thread does at a switch
	check "$1: every switch of the voice stage" eval "voice VoiceProcessing true && sleep 0.3 &&
		voice VoiceProcessingBypassed true && voice EchoCancellation false && sleep 0.2 &&
		voice VoiceProcessingBypassed false && voice EchoCancellation true && sleep 0.2"
	is "$1: the microphone is processed" "$(processor)" webrtc
	check "$1: processing is off" voice VoiceProcessing false
	sleep 0.3
}
# The same with a codec, where the echo canceller is switched while bypassed: its floating point and a codec take more than a
# whole emulated processor, which leaves nothing for the switching threads.
switched_with_codec() {
	check "$1: the voice stage without echo cancellation" eval "voice EchoCancellation false && voice VoiceProcessing true && sleep 0.3"
	is "$1: the microphone is processed" "$(processor)" webrtc
	check "$1: bypassed, back, bypassed again, with echo cancellation" eval "voice VoiceProcessingBypassed true && sleep 0.2 &&
		voice VoiceProcessingBypassed false && sleep 0.2 && voice VoiceProcessingBypassed true && voice EchoCancellation true && sleep 0.2"
	check "$1: processing is off" eval "voice VoiceProcessing false && voice VoiceProcessingBypassed false"
	sleep 0.3
}
muted() { # true|false
	busctl --system --timeout=25 set-property org.btcall /org/btcall/calls org.btcall.Calls1 Muted b "$1"
}
figure() { sed -n "s/^$2 //p" "$SHARE/$1"; }            # REPORT NAME
plain() { jq -c 'walk(if type == "object" and has("type") and has("data") then .data else . end)' <<<"$1"; }  # STATISTICS
held_up() { kill -STOP $BTCALLD; sleep "$1"; kill -CONT $BTCALLD; }                # SECONDS
places() { grep '^at ' "$SHARE/$1" | sort | uniq -c | sed 's/^/# /'; }             # REPORT

{
	lab_config | sed 's/^voiceProcessing = none$/voiceProcessing = webrtc/'
	# The interposer leaves a slow guest little: a link whose first packet comes late is opened again soon.
	printf '%s\n' "openAttempts = 20" "penaltyBaseMilliseconds = 2000"
	printf '[privacy]\nrecording = allow\n'
} > "$SHARE/voice.conf"
watched call.report
check "the microphone is not processed yet" voice VoiceProcessing false
bonded $H1 $H2 || fail "the headsets are paired"
hs h2 power off; hs h2 codecs cvsd; hs h2 power on
hs h1 power off; hs h2 power off
hs h1 mic tone 500 0.3; hs h2 mic tone 600 0.3
check "preferred device is set" btcall prefer bluetooth
check "default device is set" btcall default earpiece
analyse make near.wav 60 48000 1 >/dev/null
cp "$SHARE/near.wav" "$WORK/near-in.wav"
listen 0 earpiece
speak 0 "$WORK/near-in.wav"

test_call --outgoing --number 1001 --far-end tone:700 --seconds 300
check "route is the earpiece" wait_route earpiece 25
sleep 2
switched "on the earpiece"
analyse make beep.wav 1 16000 2 >/dev/null
btcall record "$WORK/call.wav" --side stereo --seconds 3 & recorder=$!
check "an announcement is heard" btcall play "$SHARE/beep.wav" --to page
check "the call is recorded" wait $recorder
at_least "bytes of the recording" "$(stat -c %s "$WORK/call.wav")" 100000
check "the microphone is prepared" voice RecordingAlwaysPrepared true
check "muting closes it" eval 'busctl --system set-property org.btcall /org/btcall/audio org.btcall.Audio1 MuteMode s restart &&
	voice RecordingAlwaysPrepared false && muted true && sleep 0.3 && muted false && sleep 0.3'
check "mute mode is as before" \
	busctl --system set-property org.btcall /org/btcall/audio org.btcall.Audio1 MuteMode s voiceProcessing
check "another device is chosen" btcall select speakerphone
check "route is the loudspeaker" wait_route speakerphone 30
sleep 1
check "the choice is withdrawn" btcall select --clear
check "route is the earpiece again" wait_route earpiece 30
check "headset 1 connects" switch_on h1
check "audio link opens" hs h1 wait sco 40
check "route is headset 1" wait_route bluetooth:$H1 30
# btcalld goes back to CVSD when no packet of mSBC comes in within a second: on a slow machine, the guest is late by as much.
at_least "headset 1 has mSBC" "$(hs h1 status | jq '.codec == "msbc" | if . then 1 else 0 end')" 1
switched_with_codec "on headset 1"
check "muted" btcall mute on
sleep 2
check "unmuted" btcall mute off
held_up 0.1                                             # packets come in a burst
sleep 1
headset=$(statistics)
hs h1 power lost >/dev/null
check "headset 1 lost: route is the earpiece" wait_route earpiece 30
sleep 1
held_up 0.6                                             # underrun of the card: its recovery is watched, too
check "the card ran dry" wait_until 30 eval '[ "$(statistics | jq "[.. | .xruns? | .data? // 0] | add")" -ge 1 ]'
local=$(statistics)
sleep 1
check "headset 2 connects" switch_on h2
check "audio link opens" hs h2 wait sco 40
check "route is headset 2" wait_route bluetooth:$H2 30
is "codec of headset 2" "$(hs h2 status | jq -r .codec)" cvsd
sleep 3
counters=$(statistics)
check "the button is heard" hs h2 hangup
check "the button ends the call at the provider" wait_test_call 10
for h in h1 h2; do
	sco=$(hs $h sco)
	note "$h: $(jq -c '{codec, rx_packets, tx_packets, msbc_frames, msbc_lost, seconds}' <<<"$sco")"
	at_least "$h: packets received" "$(jq .rx_packets <<<"$sco")" 200
done
hs h2 power off
stop_btcalld
hang_up_cards
note "statistics on headset 1: $(plain "$headset")"
note "statistics on the earpiece: $(plain "$local")"
note "statistics on headset 2: $(plain "$counters")"
note "$(grep -v '^at ' "$SHARE/call.report" | paste -sd ' ')"
places call.report
at_least "the whole call: the real-time thread was watched" "$(figure call.report armed)" 1
is "the whole call: allocations, locks and reference counts in the real-time thread" "$(figure call.report total)" 0
for name in malloc free pthread_mutex_lock swift_retain swift_release swift_allocObject; do
	check "calls of $name pass through the interposer" grep -qw "^seen.* $name" "$SHARE/call.report"
done

for fault in malloc mutex; do
	watched $fault.report $fault
	test_call --outgoing --number 1002 --far-end tone:700 --seconds 5
	check "planted $fault: route is the earpiece" wait_route earpiece 25
	wait_test_call 20
	stop_btcalld
	note "planted $fault: $(grep -v '^at ' "$SHARE/$fault.report" | grep -v ' 0$' | paste -sd ' ')"
	name=${fault/mutex/pthread_mutex_lock}
	at_least "planted $fault is found" "$(figure $fault.report "$name")" 1
	at_least "planted $fault: fails the check of the whole call" "$(figure $fault.report total)" 1
done
finish

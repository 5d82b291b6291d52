#!/bin/bash
# lab: limit=420 bonds="h1 h2:a2dp"
# Calls over A2DP: without a microphone, with the board's own, headsets with A2DP only or whose profiles connect one after
# the other, and a second headset that plays the first one's call.
. "$LAB/lib.sh"
. "$LAB/routing.sh"
. "$LAB/music.sh"

# The board's microphone sends 1300 Hz, the far end 700 Hz, headset 1 1000 Hz.
{ lab_config; printf '[bluetooth]\na2dp = yes\nlistener = %s\n' $H2; } > "$SHARE/btcalld.conf"
start_btcalld "$SHARE/btcalld.conf" || fail "btcalld starts"
analyse make near.wav 20 48000 0 --tone 1300 0 20 >/dev/null
cp "$SHARE/near.wav" /run/lab/near-in.wav
bonded $H1 $H2 || fail "the headsets are paired"
hs h1 power off; hs h2 power off
hs h1 mic tone 1000 0.4; hs h2 mic tone 1700 0.4
check "preferred device is set" btcall prefer bluetooth
check "default device is set" btcall default earpiece
has_transport() { wait_until 20 eval "[ -n \"\$(transport $1)\" ]"; }              # ADDRESS
check "headset 1 connects" switch_on h1
check "headset 1 is available" wait_until 5 connected $H1
check "headset 1 has a transport" has_transport $H1
hears_far() { # h1|h2 WHAT: the far end's 700 Hz, over A2DP
	local heard
	heard=$(hs $1 a2dp 700 700)
	note "$2: $(jq -c '{packets, lost, rate, channels, left, right}' <<<"$heard")"
	is "$2: no packet is lost" "$(jq .lost <<<"$heard")" 0
	at_least "$2: the far end is heard (share of the energy)" "$(jq .left.tone_share_mean <<<"$heard")" 0.9
}
uplink() { # FILE HZ FROM TO: share of the energy that the far end heard
	analyse tone "$1" "$2" --from "$3" --to "$4" | jq '.share_mean // 0'
}
call() { # NAME: outgoing, recorded at the far end
	section=$1
	LD_PRELOAD=$LAB_BIN/exchange-recorder.so LAB_EXCHANGE=$WORK/$section test_call --outgoing --number 1001 --far-end tone:700 --seconds 150
}
over() { # ends the call; keeps the far end's recording
	check "$section: the call ends" btcall hangup
	check "$section: at the provider, too" wait_test_call 10
	check "$section: no path is left" wait_route none 3
	mv "$WORK/$section-heard".* "$SHARE/"
}

# --- the microphone, in the call ------------------------------------------------------------------------------------------
speak 0 /run/lab/near-in.wav
speak 1 /run/lab/near-in.wav                          # whichever of the board's microphones it is
hs h1 mark
call microphone
check "S3.9 the microphone is wanted: HFP" hs h1 wait sco 15
check "S3.9 route is the headset" wait_route bluetooth:$H1 5
sleep 3
hs h1 mark
check "S3.8 microphoneEnabled no" btcall config routing.microphoneEnabled no
check "S3.8 the link for voice closes" hs h1 wait sco-lost 10
check "S3.8 the stream starts" wait_until 10 streams h1
check "S3.8 route is the headset" wait_route bluetooth:$H1 5
from=$(lab_time); sleep 6; to=$(lab_time)
hears_far h1 "S3.8 A2DP only"
silent="$from $to"
hs h1 mark
check "S3.9 microphoneEnabled yes" btcall config routing.microphoneEnabled yes
check "S3.9 the link for voice opens again" hs h1 wait sco 15
check "S3.9 no stream beside it" wait_until 5 eval "! streams h1"
sleep 2; from=$(lab_time); sleep 5; to=$(lab_time)
voice="$from $to"
hs h1 mark
check "S3.10 allowBluetoothA2DP yes" btcall config routing.allowBluetoothA2DP yes
check "S3.10 the link for voice closes" hs h1 wait sco-lost 10
check "S3.10 the stream starts" wait_until 10 streams h1
sleep 2; from=$(lab_time); sleep 6; to=$(lab_time)
hears_far h1 "S3.10 A2DP and the local microphone"
local_microphone="$from $to"
over
at_most "S3.8 the far end hears no microphone (share of 1300 Hz)" "$(uplink microphone-heard.wav 1300 $silent)" 0.05
at_most "S3.8 nor that of the headset (share of 1000 Hz)" "$(uplink microphone-heard.wav 1000 $silent)" 0.05
at_least "S3.9 the far end hears the headset (share of 1000 Hz)" "$(uplink microphone-heard.wav 1000 $voice)" 0.9
at_least "S3.10 the far end hears the board (share of 1300 Hz)" "$(uplink microphone-heard.wav 1300 $local_microphone)" 0.9

# --- a headset that has A2DP alone ----------------------------------------------------------------------------------------
check "allowBluetoothA2DP no" btcall config routing.allowBluetoothA2DP no
hs h1 power off
hs h1 profile a2dp
hs h1 power on
check "music only: headset 1 connects" hs h1 connect-a2dp
check "music only: it has a transport" has_transport $H1
call music-only-refused
check "music only: the call is on the earpiece" wait_route earpiece 15
check "music only: btcall why says why" eval "btcall why | grep -qi 'allowBluetoothA2DP'"
over
check "allowBluetoothA2DP yes" btcall config routing.allowBluetoothA2DP yes
call music-only
check "S3.10 music only: the call is on the headset" wait_route bluetooth:$H1 15
check "S3.10 music only: the stream starts" wait_until 10 streams h1
sleep 2; from=$(lab_time); sleep 6; to=$(lab_time)
hears_far h1 "S3.10 music only"
over
at_least "S3.10 music only: the far end hears the board (share of 1300 Hz)" "$(uplink music-only-heard.wav 1300 "$from" "$to")" 0.9
hang_up_cards
check "allowBluetoothA2DP no again" btcall config routing.allowBluetoothA2DP no

# --- one profile after the other ------------------------------------------------------------------------------------------
hs h1 power off
hs h1 profile 1.8
hs h1 mark
hs h1 power on
check "A2DP first: it connects" hs h1 connect-a2dp
check "A2DP first: a transport" has_transport $H1
check "A2DP first: HFP comes, by the headset or by us" wait_until 20 eval "[ \"\$(hs h1 status | jq .hfp)\" = true ] || hs h1 connect"
check "A2DP first: it is available for calls" wait_until 10 connected $H1
call later
hs h1 mark
check "A2DP first: the call goes over HFP" wait_route bluetooth:$H1 15
check "A2DP first: with a link for voice" wait_until 10 eval "[ \"\$(hs h1 status | jq .sco)\" = true ]"
over
hs h1 power off
check "HFP first: it connects" switch_on h1
check "HFP first: A2DP follows" has_transport $H1
check "HFP first: it is available for calls" wait_until 5 connected $H1
hs h1 power off
hs h1 profile hfp
check "HFP only: it connects" switch_on h1
check "HFP only: it is available for calls" wait_until 5 connected $H1
call hfp-only
check "HFP only: the call goes over it" wait_until 15 eval "[ \"\$(hs h1 status | jq .sco)\" = true ]"
over

# --- two at once ----------------------------------------------------------------------------------------------------------
hs h1 power off
hs h1 profile 1.8
check "two: headset 1 connects" switch_on h1
# From the guest: bluetoothd 5.66 does not answer the first configuration from a headset whose own it has not read yet.
hs h2 power on
check "two: headset 2 connects" connect $H2
check "two: headset 2 has a transport" has_transport $H2
check "two: headset 1 is available" wait_until 5 connected $H1
call two
check "two: the call is on headset 1" wait_route bluetooth:$H1 15
check "two: the stream to headset 2 starts" wait_until 15 streams h2
check "two: headset 1 has a link for voice" wait_until 10 eval "[ \"\$(hs h1 status | jq .sco)\" = true ]"
sleep 8
listened=$(hs h2 a2dp 700 1000)
note "two: headset 2: $(jq -c '{packets, lost, rate, channels, left, right}' <<<"$listened")"
is "two: headset 2 loses no packet" "$(jq .lost <<<"$listened")" 0
hs h2 a2dp-save listener.wav >/dev/null
for hz in 700 1000; do                                  # both sides of the call, at any ratio of levels
	at_least "two: headset 2 hears $hz Hz (share of the energy)" "$(analyse tone listener.wav $hz --from +2 --to -1 | jq .share_mean)" 0.1
done
over
check "two: the stream ends with the call" wait_until 10 eval "! streams h2"
stop_btcalld
finish

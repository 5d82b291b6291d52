#!/bin/bash
# lab: limit=420 bonds="h1"
# btcalld's own A2DP: announcements and music through btcall:page in stereo, the volume both ways, the headset's keys; and
# music with calls: suspended before the call's audio link opens, resumed after the last call.
. "$LAB/lib.sh"
. "$LAB/softphone.sh"
. "$LAB/music.sh"

install_pcm || fail "the plug-in is installed"
make_tones 300
{ lab_config | sed '/^\[ring\]/a pageDevice = bluetooth'; printf '[bluetooth]\na2dp = yes\n'; } > "$SHARE/btcalld.conf"
start_btcalld "$SHARE/btcalld.conf" || fail "btcalld starts"
bonded $H1 || fail "headset 1 is paired"
check "preferred device is set" btcall prefer bluetooth
check "default device is set" btcall default earpiece
check "headset 1 connects" switch_on h1
check "headset 1 is available" wait_until 5 connected $H1
check "headset 1 has a transport" wait_until 20 eval "[ -n \"\$(transport $H1)\" ]"
note "configuration $(transport_property $H1 Configuration)"
btcall monitor --json >"$WORK/monitor.json" 2>>"$SHARE/monitor.log" &
monitor=$!
HEADSET=/org/btcall/headsets/${H1//:/_}

# --- a tone for half a minute ------------------------------------------------------------------------------------------------
hs h1 mark
play_music btcall:page
check "S3.6 the stream starts" hs h1 wait a2dp 15 start
check "S3.6 half a minute of it" music_of h1 32
is "S3.6 it still plays, without a link for voice" "$(hs h1 status | jq -c '[.a2dp, .sco]')" '["streaming",false]'
hears_music h1 "S3.6 page"
at_least "S3.6 page: seconds of it" "$(jq .media_s <<<"$music")" 30
keeps_time "S3.6 page"
end_music
check "S3.6 the stream is given back afterwards" wait_until 15 eval "! streams h1"
hs h1 a2dp-save page.wav >/dev/null
for channel in 0:$LEFT 1:$RIGHT; do
	share=$(analyse tone page.wav "${channel#*:}" --channel "${channel%:*}" --from +2 --to -2)
	note "S3.6 page, channel ${channel%:*}: $(jq -c . <<<"$share")"
	at_least "S3.6 page: share of the energy over all, channel ${channel%:*}" "$(jq .share_mean <<<"$share")" 0.98
done
is "no route was made for it" "$(route)" none

# --- volume and keys ------------------------------------------------------------------------------------------------------
media_volume() { busctl --system --json=short get-property org.btcall $HEADSET org.btcall.Headset1 MediaVolume | jq .data; }
media_volume_is() { [ "$(media_volume)" = "$1" ]; }
check "the volume is set" busctl --system set-property org.btcall $HEADSET org.btcall.Headset1 MediaVolume i 80
check "the headset has it" wait_until 5 headset_volume_is h1 80
check_json "the volume at the headset" "$(hs h1 avrcp-volume 40)" .told
check "the property follows" wait_until 5 media_volume_is 40
pressed() { jq -e --arg key "$1" 'select(.event == "button" and .button == $key)' <"$WORK/monitor.json" >/dev/null; }
for key in play pause stop next previous; do
	check "key $key is accepted" hs h1 avrcp-key $key
	check "key $key is a button event" wait_until 5 pressed $key
done
check "a delay report is accepted" hs h1 a2dp-delay 150

# --- a call in the music --------------------------------------------------------------------------------------------------
hs h1 mark
play_music btcall:page
check "the music plays" hs h1 wait a2dp 15 start
check "three seconds of music" music_of h1 3
begin_call() { # NAME: rings, is answered at the headset, is heard over mSBC
	began=$(lab_time)
	hs h1 mark                                              # its link opens with the ring
	test_call --incoming --number +4912345 --far-end tone:700 --seconds 90
	check "$1: it rings" wait_until 10 calls_are ringing
	check "$1: answered at the headset" hs h1 answer
	check "$1: the audio link opens" hs h1 wait sco 15
	check "$1: route is the headset" wait_route bluetooth:$H1 5
	is "$1: codec" "$(hs h1 status | jq -r .codec)" msbc
	opened=$(event_after h1 "$began" sco)
}
end_call() { # NAME
	hs h1 mark
	check "$1: it ends" btcall hangup
	check "$1: at the provider, too" wait_test_call 10
	check "$1: the audio link closes" hs h1 wait sco-lost 10
	ended=$(event_after h1 "$opened" sco-lost)
}
begin_call "S3.9 a call"
suspended=$(event_after h1 "$began" a2dp suspend)
note "suspended ${suspended:-never}, audio link ${opened:-never}"
suspended_first "S3.9 A2DP is suspended before the audio link opens" "$suspended" "$opened"
hs h1 sco-reset
check "S3.9 eight seconds of the call" speech_of h1 8
is "S3.9 no stream beside the call" "$(hs h1 status | jq -r .a2dp)" open
down=$(hs h1 sco 700)
note "call: $(jq -c '{codec, rx_packets, msbc_lost, tone_share_mean, rms_dbfs}' <<<"$down")"
at_least "S3.9 the call is heard (share of the energy)" "$(jq .tone_share_mean <<<"$down")" 0.9
end_call "S3.9 a call"
check "the music is back" wait_until 15 streams h1
back=$(event_after h1 "$ended" a2dp start)
gap=$(awk -v a="$ended" -v b="${back:-0}" 'BEGIN { printf "%.2f", b - a }')
at_least "it is back after (s)" "$gap" 1.5
at_most "it is back within (s)" "$gap" 4
check "three seconds of music after the call" music_of h1 3
hears_music h1 "after the call"

# Two calls within the restore time: the music stays away between them. Two seconds are too short for a slow machine's
# command.
btcall config routing.mediaRestoreMilliseconds 8000 >/dev/null
begin_call "first of two"
end_call "first of two"
begin_call "second of two"
is "back-to-back calls do not bounce it" "$(event_after h1 "$ended" a2dp start)" ""
end_call "second of two"
check "the music is back after both" wait_until 25 streams h1
btcall config routing.mediaRestoreMilliseconds 2000 >/dev/null
check "three seconds of music after both" music_of h1 3
hears_music h1 "after both"
end_music
note "aplay: $(grep -v "^D:" "$SHARE/aplay.log" | sort | uniq -c | head -3 | tr '\n' ';'); statistics: $(statistics | jq -c '.data.terminals.data' | cut -c 1-400)"

# --- headsets that can do less --------------------------------------------------------------------------------------------
for limit in mono low 44100; do
	hs h1 power off
	hs h1 a2dp-capabilities $limit
	hs h1 power on
	# From the headset's side: bluetoothd remembers its earlier capabilities.
	note "$limit: $(hs h1 connect-a2dp)"
	hears_what_it_can $limit btcall:page
done
kill "$monitor"; mv "$WORK/monitor.json" "$SHARE/"
stop_btcalld
finish

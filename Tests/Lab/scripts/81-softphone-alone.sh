#!/bin/bash
# lab: limit=540 bonds="h1"
# Softphones without a follower: their audio on the PCM is a call of its own, with baresip and with linphone.
. "$LAB/lib.sh"
. "$LAB/softphone.sh"

install_pcm || fail "the plug-in is installed"
start_btcalld || fail "btcalld starts"
bonded $H1 || fail "headset 1 is paired"
check "preferred device is set" btcall prefer bluetooth
check "default device is set" btcall default earpiece
hs h1 mic tone 1000 0.4
check "headset 1 connects" switch_on h1
check "headset 1 is available" wait_until 5 connected $H1
far_softphone || fail "the far baresip starts"

is_implied() { [ "$(json '.[0] | "\(.provider) \(.state)"' calls)" = "pcm active" ]; }
implied() { # WHAT: the call made by its audio, to the headset and back
	check "$1: there is a call, of the PCM" wait_until 10 is_implied
	check "$1: audio link opens" hs h1 wait sco 15
	check "$1: route is the headset" wait_route bluetooth:$H1 5
	sleep 3
	tones h1 "$1"
	far hangup
	check "$1: the call ends with its audio" wait_until 10 calls_are ""
	sleep 1
	far_heard "far-$1.wav"
	local up
	up=$(analyse tone "far-$1.wav" 1000 --from +8 --to +15)
	note "$1: tone at the far end: $(jq -c . <<<"$up")"
	at_least "$1: tone at the far end: mean share" "$(jq .share_mean <<<"$up")" 0.98
}

# baresip, in automatic answer mode.
board_softphone answermode=auto
check "baresip listens" wait_until 20 eval "(exec 3<>/dev/tcp/127.0.0.1/$BOARD_CONTROL)"
hs h1 mark
far_mark
far dial "$BOARD"
check "baresip answers" far_wait "$(far_event CALL_ESTABLISHED)" 10
implied baresip
kill "$BOARD_PHONE"; wait "$BOARD_PHONE" 2>/dev/null

# Programs that are not softphones: they notice neither the beginning nor the end of a call, nor the loss of the headset.
# They have the softphones' priority; recordings go to memory, because writing to $SHARE can be slow.
FFMPEG="nice -n -10 ffmpeg -nostdin -hide_banner -loglevel warning"
$FFMPEG -f alsa -channels 1 -sample_rate 16000 -guess_layout_max 0 -i btcall:call -t 22 -y "$WORK/ffmpeg.wav" 2>"$SHARE/programs.log" &
RECORDER=$!
nice -n -10 gst-launch-1.0 -q alsasrc device=btcall:call num-buffers=2000 ! fakesink 2>>"$SHARE/programs.log" &
GSTREAMER=$!
sleep 1
$FFMPEG -f lavfi -i "sine=frequency=1000:sample_rate=48000:duration=16" -f alsa btcall:call 2>>"$SHARE/programs.log" &
PLAYER=$!
check "ffmpeg: there is a call, of the PCM" wait_until 10 is_implied
check "ffmpeg: route is the headset" wait_route bluetooth:$H1 15
sleep 2
check "headset 1 is switched off" hs h1 power off
check "ffmpeg: route is the earpiece" wait_route earpiece 5
check "ffmpeg plays to the end" wait "$PLAYER"
check "ffmpeg records to the end" wait "$RECORDER"
mv "$WORK/ffmpeg.wav" "$SHARE/"
check "GStreamer records to the end" wait "$GSTREAMER"
# A program that did not run in time reports it. Otherwise they print nothing.
late='xrun|Non-monotonous DTS|Last message repeated'
at_most "ffmpeg and GStreamer ran late (times)" "$(grep -cE "$late" "$SHARE/programs.log")" 0
is "ffmpeg and GStreamer print nothing else" "$(grep -vE "$late" "$SHARE/programs.log")" ""
check "ffmpeg: the call ends with its audio" wait_until 10 calls_are ""
check "headset 1 connects again" switch_on h1
check "headset 1 is available again" wait_until 5 connected $H1

# linphone's console program, in automatic answer mode, too.
cat > "$WORK/linphonerc" <<-EOF
	[sip]
	sip_port=5060
	sip_tcp_port=-1
	sip_tls_port=-1
	use_ipv6=0
	contact="Board" <sip:board@127.0.0.1>
	[net]
	nat_policy_ref=
	[sound]
	playback_dev_id=ALSA Unknown: default
	capture_dev_id=ALSA Unknown: default
	ringer_dev_id=ALSA Unknown: default
	echocancellation=0
	[misc]
	enable_basic_to_client_group_chat_room_migration=0
EOF
# It supports cards and the default device only, like many programs.
printf 'pcm.!default btcall\nctl.!default btcall\n' > "$WORK/.asoundrc"
mkdir -p "$WORK/.local/share/linphone"
mkfifo "$WORK/linphone"
exec 9<>"$WORK/linphone"
HOME=$WORK nice -n -10 linphonec -a -d 6 -l "$SHARE/linphone-debug.log" -c "$WORK/linphonerc" <"$WORK/linphone" >>"$SHARE/linphone.log" 2>&1 &
LINPHONE=$!
check "linphone listens" wait_until 40 grep -q ':13C4 ' /proc/net/udp /proc/net/udp6
sleep 3
echo "soundcard list" >&9
sleep 2
note "linphone's sound cards: $(grep -E '^ *[0-9]+: ' "$SHARE/linphone.log" | tr '\n' ';')"
hs h1 mark
far_mark
far dial "$BOARD"
check "linphone answers" far_wait "$(far_event CALL_ESTABLISHED)" 20
implied linphone
echo quit >&9
end_softphones
kill "$LINPHONE" 2>/dev/null
stop_btcalld
finish

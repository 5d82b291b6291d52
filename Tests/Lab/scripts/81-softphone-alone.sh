#!/bin/bash
# lab: limit=240
# Softphones that are not followed: what they play and record on the PCM is a call of its own, with baresip and with linphone.
. "$LAB/lib.sh"
. "$LAB/softphone.sh"

install_pcm || fail "the plug-in is installed"
start_btcalld || fail "btcalld starts"
agent
pair $H1 || fail "headset 1 is paired"
check "preferred device is set" btcall prefer bluetooth
check "default device is set" btcall default earpiece
hs h1 mic tone 1000 0.4
check "headset 1 connects" switch_on h1
check "headset 1 is available" wait_until 5 connected $H1
far_softphone || fail "the far baresip starts"

implied() { # WHAT: the call that its audio makes, to the headset and back
	check "$1: there is a call, of the PCM" wait_until 10 eval "[ \"\$(json '.[0] | \"\(.provider) \(.state)\"' calls)\" = 'pcm active' ]"
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

# baresip, which answers by itself.
board_softphone answermode=auto
check "baresip listens" wait_until 20 eval "(exec 3<>/dev/tcp/127.0.0.1/$BOARD_CONTROL)"
hs h1 mark
far_mark
far dial "$BOARD"
check "baresip answers" far_wait "$(far_event CALL_ESTABLISHED)" 10
implied baresip
kill "$BOARD_PHONE"; wait "$BOARD_PHONE" 2>/dev/null

# linphone's console program, which answers by itself as well.
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
# It knows cards and the default device, as many programs do.
printf 'pcm.!default btcall\nctl.!default btcall\n' > "$WORK/.asoundrc"
mkdir -p "$WORK/.local/share/linphone"
mkfifo "$WORK/linphone"
exec 9<>"$WORK/linphone"
HOME=$WORK nice -n -10 linphonec -a -d 6 -l "$SHARE/linphone-debug.log" -c "$WORK/linphonerc" <"$WORK/linphone" >>"$SHARE/linphone.log" 2>&1 &
LINPHONE=$!
sleep 8
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

#!/bin/bash
# lab: limit=900 bonds="h1"
# One boot of the lab (Tests/Lab/run): music.sh TURNS. The same stereo tone over A2DP to headset 1, played by BlueALSA and by
# btcall in turns. Each daemon is started for its turn and has the stream for itself. Prints and leaves in $SHARE/music.tsv a
# line for each turn: milliseconds of the virtual processor that btcalld and BlueALSA take for a second of the stream.
. "$LAB/lib.sh"
. "$LAB/softphone.sh"
. "$LAB/music.sh"
TURNS=${1:-5}

heard() { # WHAT: the headset hears the music
	music=$(hs h1 a2dp $LEFT $RIGHT)
	note "$1: $(jq -c '{configuration, rate, channels, bitpools, packets, lost}' <<<"$music")"
	at_least "$1: share of the energy, left" "$(jq .left.tone_share_mean <<<"$music")" 0.98
}
stream_begins() { # WHAT DEVICE: whether the stream runs
	hs h1 mark
	play_music "$2"
	check "$1: the stream starts" hs h1 wait a2dp 15 start
	sleep 3
}
off() {
	hs h1 power off
	wait_until 15 gone $H1 || note "bluetoothd has not noticed that headset 1 is off"
}

play_theirs() { # TURN: sets $theirs
	start_bluealsa --a2dp-volume || { not_ok "$1: bluealsa starts"; return 1; }
	hs h1 power on
	check "$1: BlueALSA: headset 1 connects" connect $H1
	check "$1: BlueALSA: it has a transport" wait_until 20 eval "[ -n \"\$(transport $H1)\" ]"
	stream_begins "$1: BlueALSA" "bluealsa:DEV=$H1,PROFILE=a2dp"
	theirs=$(cpu_per_second "$BLUEALSA")
	heard "$1: BlueALSA"
	end_music
	off
	kill "$BLUEALSA"; wait "$BLUEALSA" 2>/dev/null
}
play_ours() { # TURN: sets $ours
	start_btcalld "$SHARE/own.conf" || { not_ok "$1: btcalld starts"; return 1; }
	check "$1: btcall: headset 1 connects" switch_on h1
	check "$1: btcall: it has a transport" wait_until 20 eval "[ -n \"\$(transport $H1)\" ]"
	stream_begins "$1: btcall" btcall:page
	ours=$(cpu_per_second "$BTCALLD")
	heard "$1: btcall"
	end_music
	off
	stop_btcalld
}

make_tones 120
bonded $H1 || fail "headset 1 is paired"
install_pcm || fail "the plug-in is installed"
{ lab_config | sed '/^\[ring\]/a pageDevice = bluetooth'; printf '[bluetooth]\na2dp = yes\n'; } > "$SHARE/own.conf"
for ((turn = 1; turn <= TURNS; turn++)); do
	theirs= ours=
	play_theirs $turn
	play_ours $turn
	[ -n "$theirs" ] && [ -n "$ours" ] && printf '%s\t%s\n' "$ours" "$theirs" >>"$SHARE/music.tsv"
	note "CPU per second of stream: btcalld $ours ms, bluez-alsa $theirs ms"
done
finish

#!/bin/bash
# One boot of the lab (Tests/Lab/run): peer.sh PROGRAMS CALL..., each CALL btcall|bluealsa|pipewire and -cvsd|-msbc
# Each call is one with headset 1, by a daemon started for it, with the same counted signal from a program of the board to the
# headset (0) and back (2): 8 s in quiet, 20 s beside a busy loop at normal priority, then the headset dies without a word,
# and the link's supervision ends it after 20 s. Leaves in $SHARE, for peers.py: N-{heard,said}.{wav,times} of the program,
# N-headset.wav and N-earpiece.wav with their times, N-told or N-routes, and runs.jsonl with the moments and the CPU.
. "$LAB/lib.sh"
PROGRAMS=$1; shift
PEERS=$ROOT/Tests/Benchmarks/Peers
export TZ=UTC
QUIET=8 HOG=20 DEATH=8

# --- the three ------------------------------------------------------------------------------------------------------------
start_btcall() {
	start_btcalld && btcall prefer bluetooth >/dev/null && btcall default earpiece >/dev/null || return 1
	daemons=$BTCALLD
}
start_bluealsa() {
	bluealsa -p hfp-ag >>"$SHARE/bluealsa.log" 2>&1 &
	daemons=$!
	wait_until 20 owns_name org.bluealsa
}
# As one instance for the whole board: its own session bus, no seats, no virtual machine's long periods, a sound card that
# needs no udev.
start_pipewire() {
	mkdir -p /etc/pipewire/pipewire.conf.d /etc/wireplumber/bluetooth.lua.d /run/pipewire
	cp "$PEERS/pipewire.conf" /etc/pipewire/pipewire.conf.d/peers.conf
	cp "$PEERS/bluetooth.lua" /etc/wireplumber/bluetooth.lua.d/60-peers.lua
	export XDG_RUNTIME_DIR=/run/pipewire
	DBUS_SESSION_BUS_ADDRESS=$(dbus-daemon --session --fork --print-address) || return 1
	export DBUS_SESSION_BUS_ADDRESS
	pipewire >>"$SHARE/pipewire.log" 2>&1 &
	daemons=$!
	wait_until 20 test -S "$XDG_RUNTIME_DIR/pipewire-0" || return 1
	wireplumber >>"$SHARE/wireplumber.log" 2>&1 &
	daemons="$daemons $!"
	wait_until 20 eval 'wpctl status | grep -q Audio'
}
stop_daemons() { kill $daemons; wait $daemons; } 2>/dev/null
start_program() { # BASENAME: starts the program at the call, with its tracks
	case $peer in
	btcall)
		PEER_TRACKS=$1 PEER_RATE=$rate LD_PRELOAD=$PROGRAMS/exchange-times.so test_call --outgoing --number 1001 \
			--far-end /run/lab/far.wav --loop
		program=$TEST_CALL;;
	bluealsa)
		"$PROGRAMS/peer-alsa" "bluealsa:DEV=$H1,PROFILE=sco" "bluealsa:DEV=$H1,PROFILE=sco" "plug:SLAVE='hw:0,0'" \
			$rate /run/lab/far.wav "$1" >"$1-told" 2>>"$SHARE/program.log" &
		program=$!;;
	pipewire)
		"$PROGRAMS/peer-pipewire" $rate /run/lab/far.wav "$1" >"$1-told" 2>>"$SHARE/program.log" &
		program=$!;;
	esac
}
end_program() { # BASENAME
	case $peer in
	btcall)
		btcall hangup >/dev/null
		wait_until 10 eval "! kill -0 $program"
		grep ' route: ' "$SHARE/test-call.log" >"$1-routes"
		rm "$SHARE/test-call.log";;
	*) kill "$program";;
	esac
	wait "$program" 2>/dev/null
}
ready() { # the headset can be opened
	case $peer in
	btcall) connected $H1;;
	bluealsa) busctl --system tree org.bluealsa 2>/dev/null | grep -q hfpag/sink;;
	pipewire) pw-cli ls Device | grep -q bluez_card;;                        # its profile follows the program's role
	esac
}

# --- figures of a run -----------------------------------------------------------------------------------------------------
cpu_ns() { # PID...: nanoseconds on the processor, of all threads
	local pid sum=0 task ns
	for pid in "$@"; do for task in /proc/$pid/task/*/schedstat; do read -r ns _ <"$task" && sum=$((sum + ns)); done; done 2>/dev/null
	echo $sum
}
realtime_offset() { # lab time less $EPOCHREALTIME: the quickest of ten exchanges
	local i a b lab
	for i in 1 2 3 4 5 6 7 8 9 10; do
		a=$EPOCHREALTIME lab=$(hs lab time) b=$EPOCHREALTIME
		echo "$((${b/./} - ${a/./})) $lab $a $b"
	done | sort -n | awk 'NR == 1 { printf "%.6f", $2 - ($3 + $4) / 2 }'
}

call() { # NUMBER PEER CODEC
	local base=$WORK/$1
	peer=$2 codec=$3 rate=$([ "$3" = msbc ] && echo 16000 || echo 8000)
	analyse make far.wav 50 $rate 0 >/dev/null
	cp "$SHARE/far.wav" /run/lab/far.wav                    # not where hang_up_cards takes recordings from
	hs h1 codecs "$([ "$codec" = cvsd ] && echo cvsd || echo cvsd,msbc)"
	"start_$peer" || { not_ok "$1: $peer starts"; return; }
	switch_on h1 || { not_ok "$1: the headset connects"; return; }
	wait_until 20 ready || { not_ok "$1: the headset is ready"; return; }
	hs h1 mark
	listen 0 $1-earpiece
	start_program $base
	hs h1 wait sco 20 >/dev/null || { not_ok "$1: audio link opens"; end_program $base; return; }
	is "$1: codec" "$(hs h1 status | jq -r .codec)" "$codec"
	renice -n -10 $$ >/dev/null                             # measurements must not depend on when this script runs
	sleep 4
	local quiet=$(hs lab time) daemon_before=$(cpu_ns $daemons) program_before=$(cpu_ns $program)
	sleep $QUIET
	local daemon_after=$(cpu_ns $daemons) program_after=$(cpu_ns $program) quiet_end=$(hs lab time)
	(while :; do :; done) &
	local hog=$!
	renice -n 0 $hog >/dev/null                             # an application with the usual priority
	sleep $HOG
	local hog_end=$(hs lab time)
	kill $hog
	sleep 3
	renice -n 0 $$ >/dev/null
	local lost=$(hs h1 power lost 17)
	sleep 19                                                # nothing else runs until they notice
	wait_until $DEATH gone $H1 || note "$1: BlueZ has not noticed"
	sleep 3
	local take=$(hs h1 takes | jq -c '.[-1]')
	end_program $base
	hang_up_cards
	hs h1 wav $1-headset.wav >/dev/null
	jq -cn --argjson run "$1" --arg peer $peer --arg codec $codec \
		--argjson quiet $quiet --argjson quiet_end $quiet_end --argjson hog_end $hog_end \
		--argjson lost "$lost" --argjson take "$take" --argjson offset "$(realtime_offset)" \
		--argjson daemon $((daemon_after - daemon_before)) --argjson program $((program_after - program_before)) \
		'$ARGS.named' >>"$SHARE/runs.jsonl"
	mv "$base"-* "$SHARE/" 2>/dev/null
	cp /run/lab/watch.log "$SHARE/"
	ok "$1: measured"
}

agent
pair $H1 || fail "the headset is paired"
hs h1 power off; hs h2 power off
hs h1 mic counted 2
number=0
for call in "$@"; do
	call $((++number)) ${call%-*} ${call#*-}
	stop_daemons
done
finish

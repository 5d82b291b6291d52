#!/bin/bash
# One boot of the lab (Tests/Lab/run): peer.sh btcall|bluealsa|pipewire cvsd|msbc RUNS PROGRAMS
# Each run is a call with headset 1, with the same counted signal from a program of the board to the headset (0) and back
# (2): 8 s in quiet, 20 s beside a busy loop at normal priority, then the headset dies without a word, and the link's
# supervision ends it after 20 s. Leaves in $SHARE, for peers.py: RUN-{heard,said}.{wav,times} of the program, RUN-headset.wav
# and RUN-earpiece.wav with their times, RUN-told, and runs.jsonl with the moments and the processes' CPU.
. "$LAB/lib.sh"
peer=$1 codec=$2 runs=$3 PROGRAMS=$4
QUIET=8 HOG=20 DEATH=26
rate=$([ "$codec" = msbc ] && echo 16000 || echo 8000)

# --- the three ------------------------------------------------------------------------------------------------------------
start_btcall() { start_btcalld && btcall prefer bluetooth && btcall default earpiece; }
start_bluealsa() {
	bluealsa -p hfp-ag >>"$SHARE/bluealsa.log" 2>&1 &
	daemons=$!
	wait_until 20 owns_name org.bluealsa
}
# As one instance for the whole board: its own session bus, no seats, no virtual machine's long periods, a sound card that
# is there without udev.
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
start_program() { # BASENAME: the program at the call, with its tracks
	case $peer in
	btcall)
		"$BTCALL_BIN/btcall" monitor --json 2>>"$SHARE/monitor.log" > >(while read -r line; do echo "$EPOCHREALTIME $line"; done >"$1-monitor") &
		monitor=$!
		PEER_TRACKS=$1 PEER_RATE=$rate LD_PRELOAD=$PROGRAMS/exchange-times.so test_call --outgoing --number 1001 --far-end /run/lab/far.wav --loop
		program=$TEST_CALL;;
	bluealsa)
		"$PROGRAMS/peer-alsa" "bluealsa:DEV=$H1,PROFILE=sco" "bluealsa:DEV=$H1,PROFILE=sco" "plug:SLAVE='hw:0,0'" $rate /run/lab/far.wav "$1" \
			>"$1-told" 2>>"$SHARE/program.log" &
		program=$!;;
	pipewire)
		"$PROGRAMS/peer-pipewire" $rate /run/lab/far.wav "$1" >"$1-told" 2>>"$SHARE/program.log" &
		program=$!;;
	esac
}
end_program() {
	if [ "$peer" = btcall ]; then btcall hangup >/dev/null; wait_until 10 eval "! kill -0 $program"; kill $monitor; else kill "$program"; fi
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

run() { # NUMBER
	local base=$WORK/$1 i hogs before after
	check "$1: the headset connects" switch_on h1 || return
	wait_until 20 ready || { not_ok "$1: the headset is ready"; [ $peer = pipewire ] && pw-cli ls >"$SHARE/pipewire-objects.log"; return; }
	hs h1 mark
	listen 0 $1-earpiece
	start_program $base
	hs h1 wait sco 20 >/dev/null || { not_ok "$1: audio link opens"; [ $peer = pipewire ] && wpctl status >"$SHARE/pipewire-objects.log"; end_program; return; }
	is "$1: codec" "$(hs h1 status | jq -r .codec)" "$codec"
	renice -n -10 $$ >/dev/null                             # what is measured must not depend on when this script runs
	sleep 4
	local quiet=$(hs lab time) daemon_before=$(cpu_ns $daemons) program_before=$(cpu_ns $program)
	sleep $QUIET
	local daemon_after=$(cpu_ns $daemons) program_after=$(cpu_ns $program) quiet_end=$(hs lab time)
	(while :; do :; done) &
	local hog=$!
	renice -n 0 $hog >/dev/null                             # as an application that nobody thought of
	sleep $HOG
	local hog_end=$(hs lab time)
	kill $hog
	sleep 3
	local lost take; lost=$(hs h1 power lost 17)
	take=$(hs h1 takes | jq -c '.[-1]')
	[ "$peer" = btcall ] && sleep 3
	wait_until $DEATH gone $H1 || note "$1: BlueZ has not noticed"
	sleep 2
	renice -n 0 $$ >/dev/null
	end_program
	hang_up_cards
	hs h1 wav $1-headset.wav >/dev/null
	jq -cn --argjson run "$1" --arg peer $peer --arg codec $codec --argjson quiet $quiet --argjson quiet_end $quiet_end --argjson hog_end $hog_end \
		--argjson lost "$lost" --argjson take "$take" --argjson offset "$(realtime_offset)" \
		--argjson daemon $((daemon_after - daemon_before)) --argjson program $((program_after - program_before)) \
		'$ARGS.named' >>"$SHARE/runs.jsonl"
	mv "$base"-* "$SHARE/" 2>/dev/null
	ok "$1: measured"
}

PEERS=$ROOT/Tests/Benchmarks/Peers
agent
hs h1 power off; hs h1 codecs "$([ "$codec" = cvsd ] && echo cvsd || echo cvsd,msbc)"; hs h1 power on
hs h2 power off
"start_$peer" || fail "$peer starts"
[ "$peer" = btcall ] && daemons=$BTCALLD
pair $H1 || fail "the headset is paired"
hs h1 power off
hs h1 mic counted 2
analyse make far.wav 50 $rate 0 >/dev/null
cp "$SHARE/far.wav" /run/lab/far.wav                    # not where hang_up_cards takes recordings from
for ((number = 1; number <= runs; number++)); do run $number; done
finish

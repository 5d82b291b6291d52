#!/bin/bash
# lab: limit=420 alone=1
# The microphone of a sound card: really closed while muted by `restart`, without interrupting playback; opened once for two
# calls while it is prepared; heard within 20 ms of unmuting. The privacy output, a line of a GPIO chip, follows the
# microphone's use.
. "$LAB/lib.sh"

stream() { cat "/proc/asound/card1/pcm0$1/sub0/status"; }                        # c|p
is_closed() { [ "$(stream "$1")" = closed ]; }                                  # c|p
runs() { stream "$1" | grep -qx 'state: RUNNING'; }                             # c|p
started() { stream "$1" | sed -n 's/^trigger_time: *//p'; }                     # c|p: when it was, by the kernel
stays_closed() { local i; for i in 1 2 3 4 5; do is_closed "$1" || return 1; sleep 0.1; done; }
mic() { json ".$1" mic; }
mic_is() { [ "$(mic "$1")" = "$2" ]; }                                          # KEY VALUE
prepare() { btcall mic prepared "$1"; }                                         # on|off
line() { sed -n 's/^set 5 \(.\) .*/\1/p' "$WORK/chip.out" | tail -1; }          # last state of the privacy output
line_is() { [ "$(line)" = "$1" ]; }
begin_call() { # NUMBER
	test_call --outgoing --number "$1" --far-end tone:700 --seconds 100
	check "call $1: route is the loudspeaker" wait_route speakerphone 25
	check "call $1: it plays" wait_until 5 runs p
}
end_call() { # NUMBER
	check "call $1: ended" btcall hangup
	check "call $1: at the provider, too" wait_test_call 10
	check "call $1: playback is closed" wait_until 5 is_closed p
}

modprobe uhid && modprobe hid-cp2112 || fail "the kernel has the GPIO driver"
mkfifo "$WORK/chip.pipe"
lab-gpio <"$WORK/chip.pipe" >"$WORK/chip.out" 2>&1 &
exec 9>"$WORK/chip.pipe"
wait_until 15 grep -q ready "$WORK/chip.out" || fail "there is a GPIO chip"
{
	lab_config
	cat <<-EOF2
	[privacy]
	led = gpio:cp2112_gpio:5
	EOF2
} > "$SHARE/btcalld.conf"
start_btcalld "$SHARE/btcalld.conf" || fail "btcalld starts"
check "the loudspeaker is preferred" btcall prefer speakerphone
check "the privacy output is off at the start" line_is 0
analyse make near.wav 60 48000 1 >/dev/null
cp "$SHARE/near.wav" "$WORK/near-in.wav"
speak 1 "$WORK/near-in.wav"

# --- muted by restart -----------------------------------------------------------------------------------------------------
check "the mute mode is set" btcall mic mode restart
begin_call 1
check "restart: the microphone runs" wait_until 5 runs c
check "restart: the privacy output is on" wait_until 5 line_is 1
playing=$(started p)
for i in 1 2 3; do
	check "restart $i: muted" btcall mute on
	check "S1.14 restart $i: the microphone is closed" wait_until 2 is_closed c
	check "S1.14 restart $i: and stays closed" stays_closed c
	check "restart $i: the privacy output is off" wait_until 2 line_is 0
	check "restart $i: the loudspeaker plays on" runs p
	is "S1.14 restart $i: route" "$(route)" speakerphone
	check "S1.14 restart $i: unmuted" btcall mute off
	check "S1.14 restart $i: unmuted, the microphone runs" wait_until 2 runs c
	check "restart $i: the privacy output is on" wait_until 2 line_is 1
done
# A stalled machine causes an underrun, which restarts it.
at_most "restart: restarts of the loudspeaker" "$([ "$(started p)" = "$playing" ]; echo $?)" 0
at_most "restart: losses" "$(own_losses)" 0
note "statistics: $(statistics | jq -c '[.data.terminals.data[], .data.calls.data[] | map_values(.data)]')"
end_call 1
check "the microphone is closed after the call" wait_until 2 is_closed c
check "the privacy output is off after the call" wait_until 2 line_is 0

# --- prepared -------------------------------------------------------------------------------------------------------------
check "prepared mode is switched on" prepare on
check "prepared: it gives samples" wait_until 5 mic_is prepared true
check "prepared: the microphone runs" runs c
check "prepared: playback is closed" is_closed p
check "prepared: no other card is open" eval '[ "$(cat /proc/asound/card0/pcm0*/sub0/status | sort -u)" = closed ]'
check "S1.7 prepared: the privacy output is off" line_is 0
capturing=$(started c)
for call in 2 3; do
	begin_call $call
	check "call $call: the privacy output is on" wait_until 5 line_is 1
	check "call $call: muted by restart" btcall mute on
	check "S1.7 call $call: prepared and muted, the privacy output is off" wait_until 2 line_is 0
	check "call $call: the microphone runs on" runs c
	check "call $call: unmuted" btcall mute off
	check "call $call: the privacy output is on again" wait_until 2 line_is 1
	end_call $call
	check "call $call: the privacy output is off after it" wait_until 2 line_is 0
	check "router stopped and started" eval 'btcall stop && btcall start'
done
at_most "prepared: times that the microphone was opened again" "$([ "$(started c)" = "$capturing" ]; echo $?)" 0
is "prepared: links of headsets" "$(statistics | jq '[.data.terminals.data[] | select(.kind.data == "link")] | length')" 0

# The light turns on with the first samples: from the daemon's signal of Muted to the kernel's setting of the line. The median
# of five: both processes that note the times are in the emulated machine, and the kernel may run either late.
begin_call 4
check "call 4: the privacy output is on" wait_until 5 line_is 1
delays=()
for i in 1 2 3 4 5; do
	btcall mute on >/dev/null
	wait_until 2 line_is 0
	dbus-monitor --system --profile "type='signal',path='/org/btcall/calls',member='PropertiesChanged'" >"$WORK/muted" 2>/dev/null &
	monitor=$!
	sleep 1
	nice -n 19 "$BTCALL_BIN/btcall" mute off >/dev/null       # its end must not take the processor from the daemon
	wait_until 2 line_is 1
	sleep 0.5
	kill $monitor
	said=$(awk '/PropertiesChanged/ { print $2 }' "$WORK/muted" | tail -1)
	lit=$(sed -n 's/^set 5 1 //p' "$WORK/chip.out" | tail -1)
	delay=$(awk -v a="$said" -v b="$lit" 'BEGIN { printf "%.1f", 1000 * (b - a) }')
	note "unmuted to privacy output: $delay ms"
	delays+=("$delay")
done
late=$(printf '%s\n' "${delays[@]}" | sort -n | sed -n 3p)
at_most "S1.7 the privacy output is on after unmuting (ms, the median)" "$late" 20
end_call 4
check "S1.12 prepared mode is switched off" prepare off
check "S1.12 the microphone is closed" wait_until 2 is_closed c
is "Prepared" "$(mic prepared)" false
stop_btcalld
check "the privacy output is off at the end" line_is 0

# --- how soon -------------------------------------------------------------------------------------------------------------
btcall_lab bench mic --device hw:1,0 --runs 20 --json > "$SHARE/bench-mic.json" 2>&1
note "bench mic: $(jq -c . "$SHARE/bench-mic.json")"
at_most "S1.6 btcall-lab bench mic: prepared takes (ms, the median)" "$(jq .prepared.medianMs "$SHARE/bench-mic.json")" 20
hang_up_cards
finish

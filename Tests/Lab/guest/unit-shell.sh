#!/bin/bash
# In the unit, the second guest: carries out the commands of "hs unit sh COMMAND" one after the other, in this shell. What a
# command starts with "&" keeps running, and must not write to the command's output for longer than the command takes.
# An answer is "STATUS BYTES", and what the command printed.
export LC_ALL=C.UTF-8
mkdir -p /run/lab/work
gateway=00:1B:DC:07:00:01
gateway_object=/org/bluez/hci0/dev_${gateway//:/_}

# Sound and stalls of this guest are on its own clock.
export LAB_CLOCK=unit
unit_logs() { cp /run/lab/*.log "$SHARE/"; }                                     # for analyse
adapter_is() { busctl --system set-property org.bluez /org/bluez/hci0 org.bluez.Adapter1 "$@"; }              # PROPERTY TYPE VALUE
be_pairable() { # NAME: anybody may pair with it and use each profile
	python3 "$LAB/guest/agent.py" >>"$SHARE/agent.log" 2>&1 &
	adapter_is Alias s "$1" && adapter_is Pairable b true || return 1
	local i
	for i in $(seq 100); do grep -q registered "$SHARE/agent.log" && return; sleep 0.1; done
	return 1
}
be_found() { adapter_is Discoverable b true; }
has_name() { busctl --system --timeout=2 call org.freedesktop.DBus / org.freedesktop.DBus GetNameOwner s "$1" >/dev/null 2>&1; }
# DEVICE NAME RATE [CHANNELS]: what this side hears; DEVICE FILE.wav RATE [CHANNELS]: what it says
listen() { lab-pcm record "$1" "/run/lab/work/$2" "$3" "${4:-1}" 2>>"$SHARE/lab-pcm.log" & listening=$!; }
speak() { lab-pcm play "$1" "$2" "$3" "${4:-1}" 2>>"$SHARE/lab-pcm.log" & speaking=$!; }
quiet() { # ends both; the recordings go to $SHARE
	kill $listening $speaking 2>/dev/null
	wait $listening $speaking 2>/dev/null
	listening= speaking=
	mv /run/lab/work/*.wav /run/lab/work/*.times "$SHARE/" 2>/dev/null
	unit_logs
}

exec 3<>/run/lab/shell
while IFS= read -r lab_command <&3; do
	eval "$lab_command" </dev/null >/run/lab/said 2>&1 3>&-
	lab_status=$?
	lab_said=$(</run/lab/said)
	LC_ALL=C
	printf '%d %d\n%s' $lab_status ${#lab_said} "$lab_said" >&3
	LC_ALL=C.UTF-8
done

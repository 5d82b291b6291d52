#!/bin/bash
# lab: limit=420 alone=1 long=1 unit=debian13
# PipeWire as hands-free unit, in a guest of its own: paired by btcall, a call taken with mSBC and one made by it with CVSD, a
# tone each way, hang-up by each side, and its own connection after its session manager has been started again. PipeWire 1.4.2
# states its volumes when a link opens. What its user sets later it keeps to itself, and what the gateway sets later does not
# reach the volume of the call's stream.
. "$LAB/lib.sh"
. "$LAB/unit.sh"

# Its link opens with the ring and with the dialling. WirePlumber puts sound together then, for which the gateway gives it one
# second: nothing else runs in the guests meanwhile.
unit_rings() { sleep 2; unit "call_is incoming '$1'"; }
unit_answers() { unit with_call Answer; }
unit_hangs_up() { unit with_call Hangup; }
unit_dials() { unit "dial '$1'" && sleep 3; }
unit_is_active() { unit call_is active; }
unit_is_idle() { unit no_call; }
unit_talks() { unit "listen_pipewire $1; speak_pipewire \$SHARE/mic-16000.wav" >/dev/null; }

# What the emulator runs for the first time is slow, the first link too. WirePlumber may die of it (guest/pipewire-unit.sh).
rehearse() { # WORDS as for start_again
	unit_talks rehearsal
	test_call --incoming --far-end tone:$FAR_HZ --seconds 60
	sleep 9
	btcall hangup >/dev/null
	wait_test_call 10
	unit_quiet
	start_again "$@"
}
start_again() { # WORDS of monitor.bluez.properties: WirePlumber; the link is its to open again
	unit "stop_wireplumber; start_wireplumber $*" >/dev/null
	check "the gateway has lost the unit" wait_until 10 eval '! unit_connected'
	check "WirePlumber runs again" wait_until 30 unit has_telephony
	check "the unit connects" wait_until 15 unit connect_gateway
	check "service level connection" wait_until 15 unit_connected
	check "PipeWire has a gateway" wait_until 10 unit no_call
}
UNIT_BEND=0.6                                           # it follows the arrival of packets by up to 0.5 %

unit_boots
unit '. $LAB/guest/pipewire-unit.sh; start_session' >/dev/null
check "PipeWire runs" wait_until 20 unit 'test -S $XDG_RUNTIME_DIR/pipewire-0'
unit start_wireplumber >/dev/null
check "WirePlumber runs, with its service for calls" wait_until 30 unit has_telephony
start_unit "Foreign unit" 16000
unit practise >/dev/null
pair_unit
rehearse

takes_a_call msbc
check "btcalld has the volumes that the unit stated" eval 'gateway_volume_is 15 && [ "$(property $HEADSET Headset1 MicrophoneVolume)" = "byte 15" ]'

start_again bluez5.enable-msbc = false
rehearse bluez5.enable-msbc = false
makes_a_call cvsd

end_unit
finish

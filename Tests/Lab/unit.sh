# For scripts whose headset is somebody else's hands-free unit, in the second guest (header: unit=STACK): . "$LAB/lib.sh" first.
# A call is taken and one is made by the unit, with a tone each way, and each side hangs up. Sourced by scripts/9*-*-unit.sh,
# which say how their stack does it, with functions that fail if it cannot:
#   unit_rings NUMBER, unit_answers, unit_hangs_up, unit_dials NUMBER, unit_is_active, unit_is_idle
#   unit_sets_volume 0…15, unit_volume: prints it; without one of them its stack cannot do that
#   unit_talks NAME: before the link opens, begins to record what the unit hears, as NAME, and to say unit/mic-RATE.wav
UNIT=00:1B:DC:07:00:02
HEADSET=/org/btcall/headsets/${UNIT//:/_}
FAR_HZ=1000 UNIT_HZ=1300                                # the tone of the far end, and of the unit's microphone
TONE_LEAST=10                                           # seconds of it, without those in which the lab stood still
UNIT_BEND=0                                             # percent by which the unit's own resampler may bend what it hears

# COMMAND: one line for the unit's shell (guest/unit-shell.sh); prints its output, fails if it fails.
unit() { local said; said=$(hs unit sh "$*") || return 1; [ "$said" = '""' ] || jq -r . <<<"$said"; }
unit_quiet() { unit quiet >/dev/null; }

unit_boots() {
	local start=$EPOCHREALTIME
	unit true || fail "the unit boots"
	note "the unit answers $(since "$start") after the script began"
}
start_unit() { # NAME RATE: unit/mic-RATE.wav is made, the unit can be paired with, and btcalld runs
	# Its packets come as its own programs get the processor: how soon a dead headset is noticed is no matter here.
	lab_config | sed 's/^silentLimitMilliseconds.*/silentLimitMilliseconds = 2000/' > "$SHARE/unit.conf"
	analyse make unit/mic-$2.wav 20 $2 0 --tone $UNIT_HZ 0 20 >/dev/null
	check "the unit can be paired with" unit "be_pairable '$1'"
	start_btcalld "$SHARE/unit.conf" || fail "btcalld starts"
	check "preferred device is set" btcall prefer bluetooth
	check "default device is set" btcall default earpiece
}
pair_unit() { # finds it, pairs with it, and waits for its service level connection
	check "the unit can be found" unit be_found
	btcall headset pair --window 60 --allow $UNIT >"$SHARE/pair.txt" 2>&1
	is "the unit is paired" "$? $(prop $UNIT Paired) $(prop $UNIT Trusted)" "0 b true b true"
	note "$(tail -1 "$SHARE/pair.txt")"
	check "service level connection" wait_until 15 unit_connected
	note "the unit as btcalld sees it: $(device_json bluetooth:$UNIT)"
}
# Straight from the bus: a program as large as btcall would take the processor from daemon and sound.
unit_connected() { [ "$(property "$HEADSET" Headset1 Connected)" = "boolean true" ]; }
gateway_codec_is() { local codec; codec=$(property "$HEADSET" Headset1 Codec); [ "${codec,,}" = "$1" ]; }
gateway_volume_is() { [ "$(property "$HEADSET" Headset1 SpeakerVolume)" = "byte $1" ]; }
gateway_calls_are() { # STATES NUMBERS of all calls
	local path states= numbers=
	for path in $(busctl --system --list tree org.btcall 2>/dev/null | grep '^/org/btcall/calls/'); do
		states="$states $(property "$path" Call1 State)" numbers="$numbers $(property "$path" Call1 Number)"
	done
	[ "$(xargs <<<"$states")" = "$1" ] && { [ -z "$2" ] || [ "$(xargs <<<"$numbers")" = "$2" ]; }
}
_begin() { # NAME ARGUMENTS of test_call: the application's audio is recorded
	section=$1; shift
	unit_talks $section
	LD_PRELOAD=$LAB_BIN/exchange-recorder.so LAB_EXCHANGE=$WORK/$section test_call "$@" --far-end tone:$FAR_HZ --seconds 250
}
_in_call() { # CODEC [NUMBER]
	check "$section: the call is active${2:+, to that number}" wait_until 10 gateway_calls_are active "$2"
	check "$section: the unit knows" wait_until 10 unit_is_active
	check "$section: the call is with the unit" wait_route bluetooth:$UNIT 15
	check "$section: with $1" wait_until 5 gateway_codec_is $1
	sleep 2
	from=$(lab_time)
	sleep $((TONE_LEAST + 4))                           # analyse leaves out the time around each stall
	to=$(lab_time)
	note "$section: lost by btcalld itself: $(own_losses)"
}
_heard() { # WHAT FILE HZ [BEND]
	local tone
	tone=$(analyse tone "$2" "$3" --bend "${4:-0}" --from "$from" --to "$to")
	note "$section: $1: $(jq -c . <<<"$tone")"
	at_least "$section: $1: seconds that the lab did not spoil" "$(jq '(.windows - .excluded) / 8' <<<"$tone")" $TONE_LEAST
	at_least "$section: $1: share of the energy" "$(jq .share_mean <<<"$tone")" 0.98
}
_over() {
	check "$section: the provider's call ends" wait_test_call 10
	check "$section: no call is left" wait_until 5 gateway_calls_are ""
	check "$section: the unit knows that it is over" wait_until 10 unit_is_idle
	unit_quiet
	mv "$WORK/$section-heard".* "$WORK/$section-said".* "$SHARE/" 2>/dev/null
	_heard "the unit hears the far end" unit/$section.wav $FAR_HZ $UNIT_BEND
	_heard "the far end hears the unit" $section-heard.wav $UNIT_HZ
}

takes_a_call() { # CODEC: answered and ended by the unit, with a change of volume by either side
	local begun=$EPOCHREALTIME
	_begin taken-$1 --incoming --number +4912345
	check "$section: the unit rings, and knows who calls" wait_until 10 unit_rings +4912345
	note "$section: the unit rings $(since "$begun") after the start of the application"
	check "$section: the unit answers" unit_answers
	_in_call $1
	_volumes
	check "$section: the unit hangs up" unit_hangs_up
	_over
}
_volumes() {
	if has_function unit_sets_volume; then
		check "$section: the unit sets its volume" unit_sets_volume 7
		check "$section: btcalld knows the unit's volume" wait_until 5 gateway_volume_is 7
	else
		note "$section: this stack does not say to which volume its user has set it"
	fi
	if has_function unit_volume; then
		check "$section: btcalld sets the unit's volume" btcall headset volume $UNIT speaker 12
		check "$section: the unit has that volume" wait_until 5 unit_volume_is 12
	else
		note "$section: this stack has no volume for the gateway"
	fi
}
has_function() { [ "$(type -t "$1")" = function ]; }
unit_volume_is() { [ "$(unit_volume)" = "$1" ]; }

makes_a_call() { # CODEC: dialled by the unit, ended here
	_begin made-$1 --dialled
	check "$section: there is somebody to dial for" wait_until 10 eval "tail -1 '$SHARE/test-call.log' | grep -q 'until somebody dials'"
	check "$section: the unit dials" unit_dials +4930123
	_in_call $1 +4930123
	check "$section: the call is ended here" btcall hangup
	_over
}
end_unit() { # keeps its logs; before finish
	unit 'unit_logs; dmesg > $SHARE/dmesg.log; busctl --system tree org.bluez > $SHARE/tree.txt' >/dev/null
	stop_btcalld
}

#!/bin/bash
# lab: limit=900 bonds="h1 b1 b2" headsets="--buttons serial,le" alone=1 long=1
# Push to talk with each of the four wireless keys: a headset's AT command, a serial port, Bluetooth Low Energy, and the voice
# link. Of 50 presses: how much of a word's start is lost, how late the far end hears it, what it hears after the release.
# Then a key that is stuck, gone, or pressed twice, two keys at once, and one that floods.
# The far end is counted signal 0, the earpiece's microphone 1, headset 1's 2: the person speaks all the time.
. "$LAB/lib.sh"

PRESSES=${LAB_PRESSES:-50} HELD=0.5 PAUSE=0.6
TAIL=200                                                # ms: tailMilliseconds
LATE=30                                                 # ms beyond it; an emulated arm64 guest hands an event over in up to 8 ms
[ "$(uname -m)" != aarch64 ] || LATE=40
B1=00:1B:DC:08:00:21 B2=00:1B:DC:08:00:22

talk_config() { # LINES of [talk]
	lab_config
	printf '[talk]\nmode = push\n%s\n' "$1"
}
call_path() { busctl --system --json=short get-property org.btcall /org/btcall/calls org.btcall.Calls1 Calls | jq -r '.data[0] // empty'; }
talk_is() { [ "$(property "$call" Call1 TalkState)" = "$1" ]; }                  # STATE
holder_is() { [ "$(property "$call" Call1 TalkHolder)" = "$1" ]; }               # TEXT
keys() { json '[.talkKeys[] | "\(.kind) \(.name) \(.pressed)"] | join(", ")' talk; }
has_key() { [[ "$(keys)" == *"$1 "* ]]; }                                        # KIND NAME
has_problem() { json '.problems[].id' status | grep -qx "$1"; }                  # ID
begin_call() { # NAME ROUTE: with headset 1's microphone speaking; the far end's audio is recorded as NAME-heard.wav
	hs h1 mark
	speak 0 "$WORK/near-in.wav"
	LD_PRELOAD=$LAB_BIN/exchange-recorder.so LAB_EXCHANGE=$WORK/$1 test_call --outgoing --number 1001 \
		--far-end "$SHARE/far.wav" --seconds 280
	check "$1: the call is on $2" wait_route "$2" 25
	[ "$2" = earpiece ] || check "$1: its link is open" wait_until 5 eval '[ "$(hs h1 status | jq .sco)" = true ]'
	call=$(call_path)
	check "$1: nobody talks" wait_until 5 talk_is listening
	sleep 2                                             # the test call's audio has begun
}
end_call() { # NAME
	check "$1: the call is ended" btcall hangup
	check "$1: at the provider, too" wait_test_call 10
	hang_up_cards
}
judge() { # NAME SAID: the series of presses
	local result
	result=$(analyse talk "$2" "$1-heard.wav" "$1.presses" --code 2)
	echo "$result" > "$SHARE/$1-talk.json"
	note "$1: $(jq -c 'del(.rows)' <<<"$result")"
	note "$1: stalls: $(analyse stalls | jq -c '{count, total_ms, longest_ms}')"
	is "$1: presses that were heard" "$(jq .heard <<<"$result")" "$PRESSES"
	at_least "$1: presses that can be judged" "$(jq .judged <<<"$result")" $((PRESSES * 9 / 10))
	at_most "$1: most of a word's start that was lost (ms)" "$(jq .lost_ms_most <<<"$result")" 20
	at_most "$1: from the press to the far end's first sample, beyond the way itself (ms)" "$(jq .beyond_ms_most <<<"$result")" "${3:-40}"
	at_most "$1: most that is missing within a word (ms)" "$(jq .holes_ms_most <<<"$result")" 20
	at_most "$1: most that was heard after the release (ms)" "$(jq .tail_ms_most <<<"$result")" $((TAIL + LATE))
	is "$1: sounds that nobody pressed for" "$(jq -c .unasked <<<"$result")" "[]"
	is "$1: what the far end heard of the earpiece's microphone (s)" "$(analyse decode --code 1 "$1-heard.wav" | jq '.files[0].heard_s')" 0
}
press_and_release() { # WHAT DEVICE...: one press that must open and close
	local what=$1; shift
	check "$what: a press" hs "$@" talk ${key:-} press
	check "$what: somebody talks" wait_until 2 talk_is talking
	check "$what: a release" hs "$@" talk ${key:-} release
	check "$what: nobody talks" wait_until 2 talk_is listening
}

# --- the keys with the link kept ------------------------------------------------------------------------------------------
talk_config "" > "$SHARE/btcalld.conf"
hs b1 power off; hs b2 power off; hs h1 power off
start_btcalld "$SHARE/btcalld.conf" || fail "btcalld starts"
bonded $H1 $B1 $B2 || fail "the headset and the buttons are paired"
check "preferred device is set" btcall prefer bluetooth
check "default device is set" btcall default earpiece
analyse make far.wav 300 16000 0 >/dev/null
analyse make near.wav 300 48000 1 >/dev/null
cp "$SHARE/near.wav" "$WORK/near-in.wav"
hs h1 mic counted 2
check "headset 1 connects" switch_on h1
check "headset 1 is available" wait_until 5 connected $H1
for b in b1 b2; do hs $b power on; done
check "btcalld connects the serial port" wait_until 30 eval '[ "$(hs b1 status | jq .port)" = true ]'
check "btcalld has the notifications" wait_until 30 eval '[ "$(hs b2 status | jq .subscribed)" = true ]'
check "btcalld knows the button with the serial port" wait_until 5 has_key "button $B1"
check "btcalld knows the button of Low Energy" wait_until 5 has_key "button $B2"
note "keys: $(keys)"

for each in "at h1 at" "serial b1" "le b2"; do
	read -r name device key <<<"$each"
	begin_call $name bluetooth:$H1
	hs h1 sco-reset
	sleep 1                                             # the first word was said after the recording of the microphone begins
	check "$name: $PRESSES presses" hs $device talk $key series $PRESSES $HELD $PAUSE $name.presses
	check "$name: nobody talks at the end" wait_until 2 talk_is listening
	hs h1 mic-wav $name-mic.wav >/dev/null
	hs h1 wav $name-h1.wav >/dev/null
	end_call $name
	judge $name $name-mic.wav
	at_most "$name: signal of the far end that the wearer missed (ms)" "$(analyse decode --code 0 $name-h1.wav | jq '[.missing[] | select(.stalled | not) | .ms] | max // 0')" 20
done

# --- pressed twice, two keys, gone, flood ---------------------------------------------------------------------------------
begin_call manners bluetooth:$H1
check "twice: pressed" hs b1 talk press
check "twice: somebody talks" wait_until 2 talk_is talking
check "twice: pressed again without a release" hs b1 talk press
sleep 0.5
check "twice: somebody still talks" talk_is talking
check "twice: one release" hs b1 talk release
check "twice: it closes" wait_until 2 talk_is listening
check "twice: released again" hs b1 talk release
sleep 0.5
check "twice: it stays closed" talk_is listening

check "two keys: the button is pressed" hs b2 talk press
check "two keys: it talks" wait_until 2 holder_is "button $B2"
check "two keys: the headset's key is pressed, too" hs h1 talk at press
check "two keys: the headset's has the floor" wait_until 2 holder_is "headset $H1"
check "two keys: and is released" hs h1 talk at release
check "two keys: the button has it again" wait_until 2 holder_is "button $B2"
check "two keys: somebody talks" talk_is talking
check "two keys: the last release" hs b2 talk release
check "two keys: nobody talks" wait_until 2 talk_is listening

for each in "le b2 $B2" "serial b1 $B1"; do
	read -r name device address <<<"$each"
	check "gone, $name: pressed" hs $device talk press
	check "gone, $name: somebody talks" wait_until 2 talk_is talking
	hs $device power lost >/dev/null
	check "gone, $name: it closes" wait_until 8 talk_is listening
	check "gone, $name: btcalld knows that" wait_until 5 eval "! has_key 'button $address'"
	hs $device power on
	check "gone, $name: it is back" wait_until 40 has_key "button $address"
	key= press_and_release "gone, $name, and back" $device
done

check "flood: 300 presses at once" hs b1 flood 300 +PTT=P
sleep 1
check "flood: the key is ignored" wait_until 5 talk_is listening
check "flood: there is a problem" wait_until 5 has_problem talk.flood
check "flood: the call is where it was" route_is bluetooth:$H1
is "flood: state of the call" "$(property "$call" Call1 State)" active
key= press_and_release "flood: another key" b2
check "flood: the problem is cleared" wait_until 20 eval "! has_problem talk.flood"
hs b1 talk release >/dev/null
key= press_and_release "flood: after silence" b1
end_call manners
stop_btcalld

# --- stuck ----------------------------------------------------------------------------------------------------------------
talk_config "timeoutSeconds = 3" > "$SHARE/btcalld.conf"
start_btcalld "$SHARE/btcalld.conf" || fail "btcalld starts again"
check "stuck: headset 1 is available" wait_until 20 eval "connected $H1 || { hs h1 connect; false; }"
check "stuck: btcalld knows the button" wait_until 40 has_key "button $B1"
begin_call stuck bluetooth:$H1
check "stuck: pressed" hs b1 talk press
check "stuck: somebody talks" wait_until 2 talk_is talking
check "stuck: the time is over" wait_until 5 talk_is timedOut
check "stuck: there is a problem" wait_until 5 has_problem talk.stuck
check "stuck: released" hs b1 talk release
check "stuck: nobody talks" wait_until 2 talk_is listening
check "stuck: the problem is cleared" wait_until 5 eval "! has_problem talk.stuck"
key= press_and_release "stuck: the next press" b1
end_call stuck
stop_btcalld

# --- the voice link as the key --------------------------------------------------------------------------------------------
mkdir -p /etc/btcall
cat > /etc/btcall/talk-keys.conf <<-EOF2
	[database]
	format = 1
	[key lab]
	address = $H1
	protocol = link
	reference = the lab
EOF2
talk_config "" > "$SHARE/btcalld.conf"
start_btcalld "$SHARE/btcalld.conf" || fail "btcalld starts with a row for headset 1"
check "link: headset 1 is available" wait_until 20 eval "connected $H1 || { hs h1 connect; false; }"
begin_call link earpiece
takes=$(hs h1 status | jq .takes)
sleep 2
is "link: btcalld opens no link" "$(hs h1 status | jq .takes)" "$takes"
check "link: $PRESSES presses" hs h1 talk sco series $PRESSES 1.5 1 link.presses
check "link: nobody talks at the end" wait_until 2 talk_is listening
is "link: links that the headset opened" "$(($(hs h1 status | jq .takes) - takes))" "$PRESSES"
check "link: the call is on the earpiece" wait_route earpiece 5
end_call link
judge link - 1000                                       # the set-up of the link is the way itself
stop_btcalld
finish

#!/bin/bash
# lab: limit=480
# Use of a call's sound card by other programs ([audio] mixWithOthers), and ringing ([ring]) on the ring device instead of
# the calls' device. A program that sets the period of cards, and another one that plays on a card that is not btcalld's.
# Loopback cards with one stream each, so that an open card is busy. No Bluetooth.
. "$LAB/lib.sh"

DMIX="plug:SLAVE='dmix:CARD=0,DEV=0'"
config() { # KEYS of [audio]
	cat <<-EOT
	[device earpiece]
	playback = hw:0,0
	capture = hw:0,0
	[device speakerphone]
	playback = hw:1,0
	capture = hw:1,0
	[ring]
	device = speakerphone
	file = $SHARE/ring.wav
	tones = none
	[audio]
	voiceProcessing = none
	$1
	EOT
}
play() { nice -n -10 aplay -q -D "$1" "$WORK/in/other.wav" 2>"$SHARE/aplay.log"; }   # DEVICE; at a player's priority, with its file in memory
is_busy() { ! play "$1" && grep -q 'busy' "$SHARE/aplay.log"; }                   # DEVICE
tone() { analyse tone "$1.wav" "$2" "${@:3}"; }                                  # NAME HZ [--from TIME] [--to TIME]
begin() { # KEYS: the daemon, with both cards listened to
	config "$1" > "$SHARE/btcalld.conf"
	start_btcalld "$SHARE/btcalld.conf" || fail "btcalld starts"
	check "no device is preferred" btcall prefer none
	check "default device is set" btcall default earpiece
}

modprobe -r snd-aloop
modprobe snd-aloop enable=1,1,1 index=0,1,2 pcm_substreams=1,1,1 || fail "the kernel has the module"
analyse make ring.wav 2 16000 0 --tone 880 0 2 >/dev/null
analyse make other.wav 4 48000 0 --tone 1300 0 4 >/dev/null
analyse make long.wav 70 48000 0 --tone 1300 0 70 >/dev/null
mkdir -p "$WORK/in"
cp "$SHARE/long.wav" "$WORK/in/long.wav"
cp "$SHARE/other.wav" "$WORK/in/other.wav"              # not where hang_up_cards takes recordings from

# --- it rings where it should ---------------------------------------------------------------------------------------------
begin "mixWithOthers = no"
listen 0 ringing-call
listen 1 ringing-ring
test_call --number 1001 --far-end tone:700 --answer-after 12 --seconds 12
check "the call rings" wait_until 10 calls_are ringing
sleep 3
is "while it rings there is no route" "$(route)" none
is "the card of the calls is closed" "$(cat /proc/asound/card0/pcm0p/sub0/status)" closed
check "the card that rings is open" eval '[ "$(cat /proc/asound/card1/pcm0p/sub0/status)" != closed ]'
check "answered, the call is on the earpiece" wait_route earpiece 20
sleep 2
is "the card that rang is closed" "$(cat /proc/asound/card1/pcm0p/sub0/status)" closed

# --- alone with the card --------------------------------------------------------------------------------------------------
check "S3.5 no: the card is busy for another program" is_busy hw:0,0
check "S3.5 no: for one that would share it, too" is_busy "$DMIX"
note "no: $(head -1 "$SHARE/aplay.log")"
check "the call ends" wait_test_call 20
stop_btcalld
hang_up_cards

# --- with others ----------------------------------------------------------------------------------------------------------
listen 0 mixed-call
begin "mixWithOthers = yes"
check "yes: the log says so" grep -q 'shared with other programs (mixWithOthers)' "$SHARE/btcalld.log"
test_call --outgoing --number 1002 --far-end tone:700 --seconds 60
check "yes: the call is on the earpiece" wait_route earpiece 25
sleep 3
thread=$(grep -l btcall-rt "/proc/$BTCALLD"/task/*/comm | cut -d/ -f5)
before=$(ticks "$BTCALLD/task/$thread")
began=$(now)
check "S3.5 yes: another program plays while the call is on" play "$DMIX"
ended=$(now)
note "yes: the real-time thread took $(awk -v t=$(($(ticks "$BTCALLD/task/$thread") - before)) -v a="$began" -v b="$ended" 'BEGIN { printf "%.0f", t / (b - a) }') % of the virtual CPU"
note "yes: $(cat "$SHARE/aplay.log")"
is "yes: the call is still on the earpiece" "$(route)" earpiece
check "yes: the call ends" btcall hangup
check "yes: at the provider, too" wait_test_call 10
note "statistics: $(statistics | jq -c '{lost: .data.lost.data}')"
stop_btcalld
hang_up_cards

# --- a program sets the period of the cards, and another one plays on a third card all the time ----------------------------
parameter() { sed -n "s/^$2: \([0-9]*\).*/\1/p" "/proc/asound/card$1/pcm0p/sub0/hw_params"; }             # CARD NAME
owner() { sed -n 's/^owner_pid *: //p' "/proc/asound/card$1/pcm0p/sub0/status"; }                        # CARD
period_is() { [ "$(parameter "$1" period_size) $(parameter "$1" rate)" = "$2 48000" ]; }                 # CARD FRAMES
opened() {
	busctl --system --json=short get-property org.btcall /org/btcall/session org.btcall.Session1 Opened |
		jq -c '.data | [.device.data, (.period.data | round), .rate.data]'
}
ask_for() { # MILLISECONDS: the program, in place of an earlier one
	[ -z "$configurator" ] || { kill "$configurator"; wait "$configurator" 2>/dev/null; }
	python3 "$LAB/guest/configurator.py" "$1" >"$WORK/configurator.log" 2>&1 &
	configurator=$!
	wait_until 20 grep -q registered "$WORK/configurator.log" || { sed 's/^/# /' "$WORK/configurator.log"; return 1; }
}
begin "mixWithOthers = no"
listen 2 third-card 48000 1
nice -n -10 aplay -q -D hw:2,0 "$WORK/in/long.wav" 2>"$SHARE/aplay-third.log" & other=$!
check "another program plays on a third card" wait_until 10 eval '[ -n "$(owner 2)" ]'
third=$(owner 2)
beside=$(now)
check "a program asks for a period of 5 ms" ask_for 5
test_call --outgoing --number 1003 --far-end tone:700 --seconds 60
check "the call is on the earpiece again" wait_route earpiece 25
check "S4.9 5 ms: the card has periods of 240 frames at 48 kHz" wait_until 5 period_is 0 240
is "S4.9 5 ms: Session1.Opened says so" "$(opened)" '["earpiece",5,48000]'
check "a program asks for 20 ms" ask_for 20
check "the loudspeaker is chosen" btcall move speakerphone
check "the call is on the loudspeaker" wait_route speakerphone 10
check "S4.9 20 ms: the card has periods of 960 frames at 48 kHz" wait_until 5 period_is 1 960
is "S4.9 20 ms: Session1.Opened says so" "$(opened)" '["speakerphone",20,48000]'
is "S0.18 in the call the third card has its program" "$(owner 2)" "$third"
check "the earpiece is chosen" btcall move earpiece
check "the call is back on the earpiece" wait_route earpiece 10
sleep 10
check "the last call ends" btcall hangup
check "at its provider, too" wait_test_call 10
is "S0.18 and after it" "$(owner 2)" "$third"
played=$(now)
check "S0.18 it plays to its end" wait "$other"
note "the third card: $(cat "$SHARE/aplay-third.log")"
kill "$configurator"
stop_btcalld
hang_up_cards

ring=$(tone ringing-ring 880)
note "ring device: $(jq -c '{share_mean, rms_dbfs, windows}' <<<"$ring")"
at_least "S2.13 the ring device rings (share of the energy)" "$(jq .share_mean <<<"$ring")" 0.2
at_least "the ring is loud (dB)" "$(jq .rms_dbfs <<<"$ring")" -40
call=$(tone ringing-call 880)
note "call device: $(jq -c '{share_mean, rms_dbfs, windows}' <<<"$call")"
at_most "S2.13 no ring tone on the calls' device (share of the energy)" "$(jq .share_mean <<<"$call")" 0.01
at_least "there the call is heard (share of the energy)" "$(tone ringing-call 700 | jq .share_mean)" 0.2
for hz in 700 1300; do
	mixed=$(tone mixed-call $hz --from "$began" --to "$ended")
	note "mixed $hz Hz: $(jq -c '{share_mean, rms_dbfs, windows}' <<<"$mixed")"
	at_least "mixed: $hz Hz is heard (share of the energy)" "$(jq .share_mean <<<"$mixed")" 0.05
done
third=$(tone third-card 1300 --from "$(awk -v t="$beside" 'BEGIN { printf "%.3f", t + 1 }')" --to "$played")
note "third card: $(jq -c '{share_mean, share_min, seconds, excluded_share}' <<<"$third")"
at_least "S0.18 what the other program plays is whole (share of the energy)" "$(jq .share_mean <<<"$third")" 0.98
at_least "S0.18 seconds of it" "$(jq .seconds <<<"$third")" 10
finish

#!/bin/bash
# lab: limit=360 qemu="-device qemu-xhci,id=xhci -audiodev wav,id=usb,path=@share@/usb.wav,out.frequency=48000"
# A USB sound card is pulled out during a call on it: the next device takes over, and the call returns with the card, without
# a restart; more than once. QEMU writes the card's playback to usb.wav, and reports when it has removed the card. The far
# end is counted signal 0, the earpiece's microphone 1, the loudspeaker's 2: the card has none of its own.
. "$LAB/routing.sh"

CARD=wiredHeadset
is_available() { [ "$(device_json $CARD | jq .available)" = true ]; }
problem() { json ".problems[] | select(.id == \"device.$CARD\") | \"\(.what); \(.remedy)\"" status; }
has_problem() { [ -n "$(problem)" ]; }
threads() { ls /proc/$BTCALLD/task | wc -l; }
logged() { grep -c -- "$1" "$SHARE/btcalld.log"; }                               # WORDS
plug_in() { plugged=$(hs lab qemu device_add driver=usb-audio id=card bus=xhci.0 audiodev=usb | jq -e .end); }
pull_out() { # NUMBER: the card's playback goes to usb-card-NUMBER.wav; it ends when the card is removed
	pulled[$1]=$(hs lab qemu device_del id=card | jq .begin)
	local samples name=$SHARE/usb-card-$1
	mv "$SHARE/usb.wav" "$name.wav"
	samples=$((($(stat -c %s "$name.wav") - 44) / 4))    # two channels of 16 bit
	awk -v n="$samples" -v end="${pulled[$1]}" \
		'BEGIN { printf "# clock lab\n# mode steady\n0 %.6f\n%d %.6f\n", end - n / 48000, n, end }' > "$name.times"
}

modprobe xhci-pci && modprobe snd-usb-audio index=4 id=Headset || fail "the kernel has the modules"
{
	lab_config
	cat <<-EOF
	[device $CARD]
	playback = hw:Headset,0
	EOF
} > "$SHARE/btcalld.conf"
start_btcalld "$SHARE/btcalld.conf" || fail "btcalld starts"
daemon=$BTCALLD
check "the card is preferred" btcall prefer $CARD
check "default device is set" btcall default earpiece
check "without the card there is a problem" has_problem
note "$(problem)"
check "the card is plugged in" plug_in
check "and found" wait_until 15 is_available
check "the problem is cleared" wait_until 3 eval "! has_problem"
analyse make far.wav 150 16000 0 >/dev/null
for code in 1 2; do
	analyse make near$code.wav 100 48000 $code >/dev/null
	mv "$SHARE/near$code.wav" /run/lab/
done
cp /run/lab/near1.wav /run/lab/near-in.wav

watch_routes
begin_call usb --outgoing --number 1001
speak 1 /run/lab/near2.wav
wait_route $CARD 15 || fail "the call is with the card"
sleep 6
for i in 1 2; do
	what="pulled $i"
	pull_out $i
	check "$what: the call is on the earpiece" wait_route earpiece 5
	sleep 3
	golden why-usb-pulled.txt why
	check "$what: the card is not available" eval "! is_available"
	# The kernel cuts a transfer off (EIO) or has already removed the card (ENODEV).
	is "$what: one line in the log says what to do" \
		"$(logged "warning btcalld: $CARD: the sound card: \(No such device (ENODEV)\|Input/output error (EIO)\): plug the card in again; the call goes on with the next device meanwhile")" $i
	check "$what: so does a problem" has_problem
	note "$(problem)"
	check "$what: plugged in again" plug_in
	back[$i]=$plugged
	check "$what: the call is with the card again" wait_route $CARD 15
	check "$what: the problem is cleared" wait_until 5 eval "! has_problem"
	is "$what: the daemon has two threads" "$(threads)" 2
	sleep 5
done
check "the call is still the same" calls_are active
note "statistics: $(statistics | jq -c '.data | {lost: .lost.data, terminals: [.terminals.data[] | map_values(.data)]}')"
golden why-usb-back.txt why
pull_out 3
check "pulled 3: the call is on the earpiece" wait_route earpiece 5
sleep 2
end_call
is "the daemon was not restarted" "$BTCALLD $(pidof btcalld)" "$daemon $daemon"
golden routes-usb.txt routes
unwatch_routes
stop_btcalld
recordings="$recordings usb-card-1.wav usb-card-2.wav usb-card-3.wav"

decode_call
at_least "seconds heard on the earpiece" "$(heard_on earpiece)" 6
at_least "seconds heard on the card" "$(heard_on card)" 12
note "clock: $(analyse clock); stalls: $(analyse stalls | jq -c '{count, total_ms, longest_ms}')"
for i in 1 2 3; do
	first=$(jq --argjson pull "${pulled[$i]}" '[.files[] | select(.file | contains("earpiece")) | .segments[]
		| select(.time_end > $pull) | [.time, $pull] | max] | min' <<<"$heard")
	silent=$(awk -v a="${pulled[$i]}" -v b="$first" 'BEGIN { printf "%.0f", 1000 * (b - a) }')
	lost=$(longest missing card-$i earpiece)
	at_most "pulled $i: the earpiece sounds after the pull (ms)" "$silent" 300
	at_most "pulled $i: words lost beyond the silence (ms)" "$(awk -v a="$lost" -v b="$silent" 'BEGIN { printf "%.0f", a - b }')" 12
	note "pulled $i: silence $silent ms, words lost $lost ms"
done
for i in 1 2; do
	at_most "back $i: words lost (ms)" "$(longest missing earpiece card-$((i + 1)))" 20
	note "back $i: the card sounds $(jq --arg card card-$((i + 1)) --argjson plugged "${back[$i]}" '.files[] | select(.file | contains($card))
		| 1000 * (.segments[0].time - $plugged) | round' <<<"$heard") ms after it was plugged in"
done
at_most "far end without a microphone (ms)" "$(microphone_gap)" 300
finish

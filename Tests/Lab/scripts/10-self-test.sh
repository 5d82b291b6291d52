#!/bin/bash
# lab: limit=220
# The lab alone, no audio gateway: bare SCO through the guest's kernel and back, a loopback sound card, the clocks.
. "$LAB/lib.sh"

agent
pair $H1 || fail "headset 1 is discovered and paired"
ok "headset 1 is discovered and paired"

for codec in cvsd msbc; do
	hs h1 force-codec $codec
	hs h1 mic counted 2
	hs h1 mark
	sco-echo $H1 $codec 40 > "$WORK/echo.out" & echo=$!
	hs h1 wait sco 10 >/dev/null || fail "$codec: SCO opens"
	sleep 6
	check "$codec: recording is written" hs h1 wav $codec-counted.wav
	hs h1 mic tone 1000 0.5
	sleep 0.5
	hs h1 sco-reset
	sleep 8
	hs h1 wav $codec-tone.wav >/dev/null
	statistics=$(hs h1 sco)
	note "$codec: $(jq -c '{rx_packets, tx_packets, gap_ms_median, gap_ms_p99, gap_ms_max, msbc_lost}' <<<"$statistics")"
	check_json "$codec: no frame is lost or bad" "$statistics" '(.msbc_lost // 0) == 0 and (.msbc_bad // 0) == 0'
	hs h1 mic silence
	sleep 0.5
	for i in 1 2 3; do
		hs h1 pulse
		note "$codec: round trip $(hs h1 wait pulse-heard 3 | jq .value) ms"
	done
	kill $echo; wait $echo 2>/dev/null
	sed 's/^/# /' "$WORK/echo.out"
	hs h1 wait sco-lost 5 >/dev/null
done

analyse make speech.wav 20 48000 1 >/dev/null
cp "$SHARE/speech.wav" "$WORK/speech-in.wav"
listen 0 card
lab-pcm play hw:0,0 "$WORK/speech-in.wav" 2>>"$SHARE/lab-pcm.log" & player=$!
sleep 5
kill $player; wait $player 2>/dev/null
rm "$WORK/speech-in.wav"
hang_up_cards

for codec in cvsd msbc; do
	result=$(analyse decode --code 2 $codec-counted.wav)
	check_json "$codec: the counted signal is heard without a hole" "$result" '.missing_ms == 0 and (.files[0].segments | length) == 1'
	at_least "$codec: seconds of it" "$(jq .files[0].heard_s <<<"$result")" 5
	result=$(analyse tone $codec-tone.wav 1000)
	note "$codec: tone $(jq -c '{windows, excluded, share_min, share_mean}' <<<"$result")"
	at_least "$codec: least share of 1 kHz over 1/8 s" "$(jq .share_min <<<"$result")" 0.98
done
result=$(analyse decode --code 1 card.wav)
at_most "sound card: missing of the counted signal (ms)" "$(jq .missing_ms <<<"$result")" 0
at_most "sound card: holes in it" "$(jq '.files[0].gaps | length' <<<"$result")" 0
at_least "sound card: seconds of it" "$(jq .files[0].heard_s <<<"$result")" 4
note "clock: $(analyse clock)"
at_most "guest clock is known within (ms)" "$(analyse clock | jq .bound_ms)" 5
note "stalls: $(analyse stalls | jq -c '{count, total_ms, longest_ms}') over 20 ms: $(analyse stalls --limit 20 | jq -c '{count, total_ms, longest_ms}')"
note "air: $(hs lab air)"
finish

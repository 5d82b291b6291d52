# The four steps with real bluetoothd, for one codec: . "$LAB/four-steps.sh" cvsd|msbc. Sourced by scripts/2*.sh.
# 1 a call starts without a headset: earpiece. 2 headset 1 connects: the call moves to it. 3 headset 1 dies silently:
#     earpiece. 4 headset 2 is paired during the call, and the call moves there; its button ends the call.
# The far end is counted signal 0, the earpiece's microphone 1, those of the headsets 2 and 3.
. "$LAB/lib.sh"
codec=$1

start_btcalld || fail "btcalld starts"
bonded $H1 || fail "headset 1 is paired"
for h in h1 h2; do
	hs $h power off; hs $h codecs "$([ "$codec" = cvsd ] && echo cvsd || echo cvsd,msbc)"; hs $h power on
done
hs h1 power off; hs h2 power off
hs h1 mic counted 2; hs h2 mic counted 3
check "preferred device is set" btcall prefer bluetooth
check "default device is set" btcall default earpiece

analyse make far.wav 100 16000 0 >/dev/null
analyse make near.wav 150 48000 1 >/dev/null
cp "$SHARE/near.wav" "$WORK/near-in.wav"
listen 0 earpiece
speak 0 "$WORK/near-in.wav"

# 1
LD_PRELOAD=$LAB_BIN/exchange-recorder.so LAB_EXCHANGE=$WORK/far test_call --outgoing --number 1001 --far-end "$SHARE/far.wav" --record "$WORK/uplink.wav" --seconds 150
check "step 1: route is the earpiece" wait_route earpiece 25
sleep 3
golden why-step-1.txt why

# 2
check "step 2: headset 1 connects" switch_on h1
check "step 2: audio link opens" hs h1 wait sco 10
check "step 2: route is headset 1" wait_route bluetooth:$H1 5
is "step 2: codec" "$(hs h1 status | jq -r .codec)" $codec
sleep 3
golden why-step-2.txt why

# 3
lost=$(hs h1 power lost 12)                             # BlueZ may notice after 3 + 12 s
sleep 1
check "step 3: route is the earpiece" route_is earpiece
golden why-step-3.txt why
check_json "step 3: BlueZ has not noticed yet" "$(prop $H1 Connected | jq -R .)" '. == "b true"'
sleep 2

# 4: headset 2, which nobody knows, pairs during the call; btcalld searches for nobody meanwhile.
pairing_from=$(lab_time)
btcall headset pair --window 60 --allow $H2 >"$WORK/pair.txt" 2>&1 &
pair=$!
check "step 4: a window opens during the call" wait_until 5 eval '[ "$(property /org/btcall Pairing1 State)" = open ]'
is "step 4: btcalld does not search" "$(property /org/btcall Pairing1 Searching)" "boolean false"
check "step 4: headset 2 connects" switch_on h2
if wait $pair; then ok "step 4: headset 2 is paired"; else not_ok "step 4: headset 2 is paired"; sed 's/^/# /' "$WORK/pair.txt"; fi
pairing_to=$(lab_time)
note "paired and connected: from $pairing_from to $pairing_to"
check "step 4: audio link opens" hs h2 wait sco 10
check "step 4: route is headset 2" wait_route bluetooth:$H2 5
check "step 4: BlueZ has noticed that headset 1 is dead" wait_until 20 gone $H1
sleep 3
golden why-step-4.txt why
counters=$(btcall status --json)
note "status: $(jq -c . <<<"$counters")"
hs h2 mark
check "the button is heard" hs h2 hangup
check "the button ends the call at the provider" wait_test_call 5
check "the headset is notified" hs h2 wait indicator 5 call=0
hang_up_cards
hs h1 wav h1.wav >/dev/null
hs h2 wav h2.wav >/dev/null

# A 1 kHz tone each way, in steady state.
hs h2 mic tone 1000 0.4
hs h2 mark
test_call --outgoing --number 1002 --far-end tone:1000 --record "$WORK/uplink-tone.wav" --seconds 60
check "second call: audio link opens" hs h2 wait sco 15
sleep 2
hs h2 sco-reset
begin=$(lab_time)
sleep "${TONE_SECONDS:-25}"
end=$(lab_time)
hs h2 wav tone.wav >/dev/null
note "headset 2: $(hs h2 sco | jq -c '{rx_packets, tx_packets, gap_ms_median, gap_ms_p99, gap_ms_max, msbc_lost, msbc_bad}')"
at_most "second call: the daemon's own losses" "$(own_losses)" 0
hs h2 hangup >/dev/null
ended=$(lab_time)
check "second call: the button ends it" wait_test_call 5
stop_btcalld
hang_up_cards

heard=$(analyse decode --code 0 earpiece.wav h1.wav h2.wav)
echo "$heard" > "$SHARE/heard.json"
note "clock: $(analyse clock); stalls: $(analyse stalls | jq -c '{count, total_ms, longest_ms}')"
for file in earpiece h1 h2; do
	at_least "seconds heard on $file" "$(jq --arg f $file.wav '.files[] | select(.file == $f) | .heard_s' <<<"$heard")" 2
done
note "missing: $(jq -c '.missing' <<<"$heard")"
note "silences: $(jq -c '.silences' <<<"$heard")"
# Step 3 loses audio between headset 1 and the earpiece; no other gap may reach 20 ms, unless the lab stalled.
outside='select(.ms >= 20 and (.before == "h1.wav" and .after == "earpiece.wav" | not))'
at_most "steps 2 and 4: times that signal is missing" "$(jq "[.missing[] | $outside | select(.stalled | not)] | length" <<<"$heard")" 0
at_most "steps 2 and 4: silent moments" "$(jq "[.silences[] | $outside | select(.stalled | not)] | length" <<<"$heard")" 0
during="select(.ms >= 20 and .time_to > $pairing_from and .time < $pairing_to)"
at_most "step 4: silent moments while headset 2 pairs" "$(jq "[.silences[] | $during | select(.stalled | not)] | length" <<<"$heard")" 0
note "left out because the lab stalled: $(jq "[.missing[], .silences[] | $outside | select(.stalled)] | length" <<<"$heard")"
last=$(jq .rx_last <<<"$lost")
first=$(jq --argjson last "$last" '[.files[] | select(.file == "earpiece.wav") | .segments[] | select(.time_end > $last) | [.time, $last] | max] | min' <<<"$heard")
at_most "step 3: earpiece sounds after the headset's last packet (ms)" "$(awk -v a="$last" -v b="$first" 'BEGIN { printf "%.0f", 1000 * (b - a) }')" $((SILENT_LIMIT_MS + 20))
at_most "step 3: signal that nobody heard (ms)" "$(jq '[.missing[] | select((.stalled | not) and .before == "h1.wav" and .after == "earpiece.wav") | .ms] | max // 0' <<<"$heard")" 20
far=$(analyse decode --code 1 far-heard.wav)
again=$(jq --argjson last "$last" '[.files[0].segments[] | select(.time_end > $last) | [.time, $last] | max] | min' <<<"$far")
at_most "S0.14 step 3: the far end hears the caller again (ms)" "$(awk -v a="$last" -v b="$again" 'BEGIN { printf "%.0f", b == "null" ? 1e9 : 1000 * (b - a) }')" 300
at_most "S0.14 step 3: most missing of the caller at once from then on (ms)" "$(jq --argjson from "${again:-0}" '[.files[0].gaps[] | select(.time > $from) | .missing_ms] | max // 0' <<<"$far")" 20

# Towards the far end: each microphone in turn, without gaps.
for code in 1 2 3; do
	uplink=$(analyse decode --code $code uplink.wav)
	note "uplink, microphone $code: $(jq -c '{missing_ms, gaps: .files[0].gaps, heard: .files[0].heard_s}' <<<"$uplink")"
	at_least "uplink: seconds of microphone $code" "$(jq .files[0].heard_s <<<"$uplink")" 2
	at_most "uplink: most missing of microphone $code at once (ms)" "$(jq '[.files[0].gaps[] | .missing_ms | select(. < 2000)] | max // 0' <<<"$uplink")" 20
done

down=$(analyse tone tone.wav 1000 --from "$begin" --to "$end")
note "tone at the headset: $(jq -c . <<<"$down")"
at_least "tone at the headset: least share" "$(jq .share_min <<<"$down")" 0.98
at_most "tone at the headset: windows left out" "$(jq .excluded_share <<<"$down")" 0.1
up=$(analyse tone uplink-tone.wav 1000 --end "$ended" --from "$begin" --to "$end")
note "tone at the far end: $(jq -c . <<<"$up")"
at_least "tone at the far end: least share" "$(jq .share_min <<<"$up")" 0.98
at_most "tone at the far end: windows left out" "$(jq .excluded_share <<<"$up")" 0.1
finish

# For the scripts on the routing policy: two paired headsets, calls with recordings, and recorded routes. Sourced by
# scripts/31-*.sh to 33-*.sh. The far end is counted signal 0, the earpiece's microphone 1, those of the headsets 2 and 3.
. "$LAB/lib.sh"

pair_headsets() { # both, then both off; preferred bluetooth, default earpiece
	bonded $H1 $H2 || fail "the headsets are paired"
	hs h1 power off; hs h2 power off
	hs h1 mic counted 2; hs h2 mic counted 3
	check "preferred device is set" btcall prefer bluetooth
	check "default device is set" btcall default earpiece
	analyse make far.wav 100 16000 0 >/dev/null
	analyse make near.wav 100 48000 1 >/dev/null
	cp "$SHARE/near.wav" /run/lab/near-in.wav               # not where hang_up_cards takes recordings from
}
switch_on_known() { # h1|h2 ADDRESS: on, and known to the daemon as usable
	check "headset $1 connects" switch_on $1
	check "headset $1 is available" wait_until 5 connected $2
}

# --- routes ---------------------------------------------------------------------------------------------------------------
watch_routes() { # all changes from here on, one signal a line
	btcall monitor --json >"$WORK/monitor.json" 2>>"$SHARE/monitor.log" &
	monitor=$!
	marked=0
}
mark_routes() { marked=$(wc -l <"$WORK/monitor.json"); }
routes() { # since the mark: exactly one line a change
	tail -n +$((marked + 1)) "$WORK/monitor.json" | jq -r 'select(.event == "routeChanged") | "\(.old // "none") -> \(.new // "none") (\(.reason))"'
}
unwatch_routes() { kill "$monitor" 2>/dev/null; mv "$WORK/monitor.json" "$SHARE/"; }
idle_links() { is "$1: no link to headset $2" "$(hs $2 status | jq .sco)" false; }       # WHAT h1|h2

# --- calls ----------------------------------------------------------------------------------------------------------------
begin_call() { # NAME ARGUMENTS of test_call: records the devices' playback
	section=$1; shift
	mark_routes
	first1=$(hs h1 status | jq .takes) first2=$(hs h2 status | jq .takes)
	listen 0 $section-earpiece
	speak 0 /run/lab/near-in.wav
	test_call --far-end "$SHARE/far.wav" --record "$WORK/$section-uplink.wav" --seconds 150 "$@"
}
end_call() { # from the board; keeps the recordings
	check "$section: the call is ended" btcall hangup
	check "$section: at the provider, too" wait_test_call 5
	check "$section: no path is left" wait_route none 2
	hang_up_cards
	local h take
	recordings=$section-earpiece.wav
	for h in h1 h2; do
		for ((take = first${h#h}; take < $(hs $h status | jq .takes); take++)); do
			hs $h wav $section-$h-$take.wav $take >/dev/null
			recordings="$recordings $section-$h-$take.wav"
		done
	done
}

# --- sound ----------------------------------------------------------------------------------------------------------------
decode_call() { # examines the section's recordings: $heard; notes the files
	heard=$(analyse decode --code 0 $recordings)
	echo "$heard" > "$SHARE/$section-heard.json"
	note "$section: heard on $(jq -c '[.files[] | {(.file): .heard_s}] | add' <<<"$heard"); stalls: $(analyse stalls | jq -c '{count, total_ms, longest_ms}')"
	note "$section: missing $(jq -c '[.missing[] | select(.ms >= 20) | {ms, before, after, stalled}]' <<<"$heard"), silences $(jq -c '[.silences[] | select(.ms >= 20) | {ms, before, after, stalled}]' <<<"$heard"), overlaps $(jq -c '[.overlaps[] | {ms, files}]' <<<"$heard")"
}
heard_on() { jq --arg word "$1" '[.files[] | select(.file | contains($word)) | .heard_s] | add // 0' <<<"$heard"; }  # WORD of recordings: seconds
longest() { # missing|silences BEFORE AFTER: ms between a recording with that word in its name and one with this; 0 if none
	jq --arg kind "$1" --arg before "$2" --arg after "$3" '[.[$kind][] | select((.stalled | not)
		and (.before | contains($before)) and (.after | contains($after))) | .ms] | max // 0' <<<"$heard"
}
silence() { # BEFORE AFTER: the longest in ms, whether or not the lab stalled meanwhile
	jq --arg before "$1" --arg after "$2" '[.silences[] | select((.before | contains($before)) and (.after | contains($after))) | .ms] | max // 0' <<<"$heard"
}
one_device() { # a new device plays while the old one still plays its queued audio (95 ms), and no longer
	at_most "$section: two devices at once (ms)" "$(jq .overlap_ms_max <<<"$heard")" 150
}
microphone_gap() { # longest time in which the far end heard no microphone at all, in ms
	local code
	for code in 1 2 3; do analyse decode --code $code $section-uplink.wav; done | jq -s '[.[].files[0].segments[]] | sort_by(.start)
		| reduce .[] as $s ({}; {most: ([.most // 0, if .end then $s.start - .end else 0 end] | max), end: ([.end // 0, $s.end] | max)})
		| 1000 * .most | round'
}


# For the scripts of the fault matrix: one call that must survive every fault, its recordings at both sides, and a line "#
# fault {...}" for each, from which fault-table makes the table of the documentation. Sourced by scripts/95-*.sh and 96-*.sh.
# The far end is counted signal 0, the earpiece's microphone 1, those of the headsets 2 and 3.
#
#     begin_fault NAME NEAR_MS FAR_MS RECOVERED_S "WHAT HAPPENS"     the most that may be silent, and that may pass until all is well;
#                                                                    - : no limit, x : nobody speaks there
#     check "..." what does it
#     repaired                                                       from here the time to recovery is counted (else from the beginning)
#     recovered SECONDS COMMAND...                                   what shows that all is as before
#     end_fault 'WORDS OF THE LOG' | end_fault -                     - : it is nothing that the log has to speak of
. "$LAB/routing.sh"

fault_names=() fault_from=() fault_to=() fault_log=() fault_recovered=() fault_call=() fault_what=() fault_limits=()
near_files= far_files= wanted_windows=()

fault_config() { # as lab_config; and losses are soon forgotten, so that no fault pays for the one before
	lab_config
	echo "flapWindowMilliseconds = 5000"
}
current_call() { # its object; nothing when there is none. One fork: time matters
	local answer
	answer=$(busctl --system --timeout=2 get-property org.btcall /org/btcall/calls org.btcall.Calls1 Calls 2>/dev/null)
	[[ $answer == *'"'* ]] || return 1
	answer=${answer#*\"}
	echo "${answer%%\"*}"
}
is_up() { [ -n "$the_call" ] && [ "$(property "$the_call" Call1 State)" = active ]; }
has_call() { the_call=$(current_call) && is_up; }
uses_headset() { route_is "bluetooth:$H1"; }
said() { tail -c +$((log_mark + 1)) "$SHARE/btcalld.log" | grep -qE -- "$1"; }          # PATTERN: in the log, since the fault began
in_log() { # PATTERN: the first such line since the fault began, without its time
	tail -c +$((log_mark + 1)) "$SHARE/btcalld.log" | grep -m 1 -E -- "$1" | sed -E 's/^.*(trace|debug|info|notice|warning|error|critical) [a-z.]+: //'
}

begin_call_under_test() { # NAME: its far end and what it hears are recorded with times
	call_name=$1
	LD_PRELOAD=$LAB_BIN/exchange-recorder.so LAB_EXCHANGE=$WORK/far-$1 \
		test_call --outgoing --number 1001 --far-end "$SHARE/far.wav" --loop --seconds 600
	check "$1: the call is up" wait_until 25 has_call
	far_files="$far_files far-$1-heard.wav"
}
end_call_under_test() {
	check "$call_name: the call ends" btcall hangup
	check "$call_name: at its application, too" wait_test_call 10
}

begin_fault() { # NAME NEAR_MS FAR_MS RECOVERED_S WHAT
	fault_names+=("$1") fault_limits+=("$2 $3 $4") fault_what+=("$5")
	fault=$1
	log_mark=$(stat -c %s "$SHARE/btcalld.log")
	fault_from+=("$(lab_time)")
	fault_since=$EPOCHREALTIME recovery=
}
repaired() { fault_since=$EPOCHREALTIME; }
recovered() { # SECONDS COMMAND...
	local limit=$1 steady; shift
	if patience=100 wait_until "$limit" "$@"; then
		recovery=$(awk -v a="$fault_since" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')
		ok "$fault: recovered after $recovery s"
	else
		not_ok "$fault: not recovered within $limit s ($*)"
	fi
}
end_fault() { # PATTERN|- [WHAT THE CALL DOES]: "goes on" unless said otherwise
	local line= call=${2:-goes on}
	sleep 1
	fault_to+=("$(lab_time)")
	if [ "$1" = - ]; then
		line=$(in_log 'warning|error|critical')
	elif wait_until 5 said "$1"; then
		line=$(in_log "$1")
		ok "$fault: the log names it"
	else
		not_ok "$fault: the log names it ($1)"
	fi
	note "$fault: log: $line"
	if [ "$call" = "goes on" ]; then
		if is_up; then
			ok "$fault: the call goes on"
		else
			not_ok "$fault: the call goes on"
			call=ends
			end_of_lost_call
		fi
	fi
	fault_log+=("$line") fault_call+=("$call") fault_recovered+=("${recovery:-null}")
}
end_of_lost_call() { # so that later faults can be examined
	kill "$TEST_CALL" 2>/dev/null
	begin_call_under_test "$fault-next"
}

json_text() { local text=${1//\\/\\\\}; text=${text//\"/\\\"}; printf '"%s"' "${text//$'\t'/ }"; }
finish_faults() { # with the recordings in $SHARE: judges the audio, and prints the lines
	local i arguments=() heard near far limits row
	for i in "${!fault_names[@]}"; do arguments+=(--window "${fault_names[i]}" "${fault_from[i]}" "${fault_to[i]}"); done
	heard=$(analyse windows --near $near_files --far $far_files "${arguments[@]}") || fail "the recordings are understood"
	echo "$heard" > "$SHARE/windows.json"
	note "clock: $(analyse clock); stalls: $(analyse stalls | jq -c '{count, total_ms, longest_ms}')"
	for i in "${!fault_names[@]}"; do
		row=$(jq -c --arg name "${fault_names[i]}" '.[$name]' <<<"$heard")
		read -r near far stalled lost <<<"$(jq -r '"\(.near_ms) \(.far_ms) \(.stalled_ms) \(.lost_ms)"' <<<"$row")"
		limits=(${fault_limits[i]})
		[ "${limits[1]}" = x ] && far=null
		[[ ${fault_call[i]} == "goes on" ]] || lost=null  # the next call restarts its signal
		echo "# fault {\"name\":\"${fault_names[i]}\",\"what\":$(json_text "${fault_what[i]}"),\"near_ms\":$near,\"lost_ms\":$lost,\"far_ms\":$far,\"stalled_ms\":$stalled,\"log\":$(json_text "${fault_log[i]}"),\"recovered_s\":${fault_recovered[i]},\"call\":\"${fault_call[i]}\"}"
		# A stall of the lab itself also causes silence, which is not the daemon's fault.
		[ "${limits[0]}" = - ] || at_most "${fault_names[i]}: longest silence here (ms)" "$(awk -v a="$near" -v b="$stalled" 'BEGIN { printf "%.0f", a - b }')" "${limits[0]}"
		[[ ${limits[1]} == [-x] ]] || at_most "${fault_names[i]}: longest silence at the far end (ms)" "$(awk -v a="$far" -v b="$stalled" 'BEGIN { printf "%.0f", a - b }')" "${limits[1]}"
		[ "${limits[2]}" = - ] || at_most "${fault_names[i]}: recovered after (s)" "${fault_recovered[i]}" "${limits[2]}"
	done
}
take_recordings() { # from headsets: $near_files; those of sound cards exist already
	local h take count
	for h in h1 h2; do
		count=$(hs $h status | jq .takes)
		for ((take = 0; take < count; take++)); do
			# A refused link, or one without packets, gives no recording.
			hs $h wav faults-$h-$take.wav $take >/dev/null 2>&1 && [ "$(stat -c %s "$SHARE/faults-$h-$take.wav")" -gt 4000 ] &&
				near_files="$near_files faults-$h-$take.wav"
		done
	done
}

# For scripts with music: streams over A2DP from the guest to the headsets. Sourced by scripts/9*.sh after lib.sh.
# The tones: 1000 Hz on the left, 440 Hz on the right, half of full scale: -9.0 dB each.
LEFT=1000 RIGHT=440

make_tones() { # SECONDS [RATE]: /run/lab/tones.wav, in memory
	analyse stereo tones.wav "$1" $LEFT $RIGHT "${2:-48000}" >/dev/null
	mv "$SHARE/tones.wav" /run/lab/tones.wav
}
play_music() { # DEVICE [ARGUMENTS of aplay]: in the background, urgent; a session of its own, because it may be stopped
	setsid nice -n -10 aplay -q -D "$@" /run/lab/tones.wav >>"$SHARE/aplay.log" 2>&1 &
	MUSIC=$!
}
end_music() { kill "$MUSIC" 2>/dev/null; wait "$MUSIC" 2>/dev/null; }
start_bluealsa() { # owns A2DP until it is ended
	nice -n -10 bluealsa -p a2dp-source "$@" >>"$SHARE/bluealsa.log" 2>&1 &
	BLUEALSA=$!
	wait_until 10 owns_name org.bluealsa
}
transport() { # its MediaTransport1 in bluetoothd
	busctl --system --timeout=2 tree --list org.bluez 2>/dev/null | grep -E "^$(dev "$1")(/sep[0-9]+)?/fd[0-9]+$" | tail -1
}
transport_property() { # ADDRESS NAME: its value
	local path answer
	path=$(transport "$1"); [ -n "$path" ] || return 1
	answer=$(busctl --system --timeout=2 get-property org.bluez "$path" org.bluez.MediaTransport1 "$2" 2>/dev/null) || return 1
	answer=${answer#* }
	answer=${answer#\"}
	echo "${answer%\"}"
}
transport_is() { [ "$(transport_property "$1" State)" = "$2" ]; }                # ADDRESS idle|pending|active
volume_is() { [ "$(transport_property "$1" Volume)" = "$2" ]; }                  # ADDRESS 0...127
headset_volume_is() { [ "$(hs "$1" status | jq .volume)" = "$2" ]; }             # h1|h2 0...127
streams() { [ "$(hs "$1" status | jq -r .a2dp)" = streaming ]; }                 # h1|h2: the headset's stream is started
take_has() { hs "$1" "$2" | jq -e --arg key "$3" --argjson seconds "$4" '(.[-1][$key] // 0) >= $seconds'; }  # h1|h2 VERB KEY SECONDS
# Waits until the headset has got SECONDS of its present stream, or of its present voice link. A stalling lab takes longer.
music_of() { wait_until $((2 * $2 + 10)) take_has "$1" a2dp-takes media_s "$2"; }  # h1|h2 SECONDS
speech_of() { wait_until $((2 * $2 + 10)) take_has "$1" takes seconds "$2"; }      # h1|h2 SECONDS

# Examines the headset's present audio: the statistics of the stream in $music, checked for both tones.
hears_music() { # h1|h2 WHAT [RATE]
	music=$(hs "$1" a2dp $LEFT $RIGHT)
	note "$2: $(jq -c 'del(.first, .last, .opened, .closed)' <<<"$music")"
	is "$2: no packet is lost" "$(jq .lost <<<"$music")" 0
	is "$2: every SBC frame is whole, and counted rightly" "$(jq -c '[.sbc_bad, .miscounted]' <<<"$music")" "[0,0]"
	is "$2: rate" "$(jq .rate <<<"$music")" "${3:-48000}"
	is "$2: channels" "$(jq .channels <<<"$music")" 2
	local channel hz
	for channel in left:$LEFT right:$RIGHT; do
		hz=${channel#*:} channel=${channel%:*}
		at_least "$2: share of the energy, $channel" "$(jq ".$channel.tone_share_mean" <<<"$music")" 0.98
		check_json "$2: frequency, $channel" "$music" "(.$channel.hz - $hz) | fabs < 3"
		check_json "$2: level, $channel" "$music" "(.$channel.rms_dbfs + ${LEVEL:-9.0}) | fabs < 0.5"
	done
}
# Headset 1 with limited capabilities, connected: audio played to it by DEVICE is complete, in the best supported form.
hears_what_it_can() { # mono|low|44100 DEVICE
	check "$1: it has a transport" wait_until 20 eval "[ -n \"\$(transport $H1)\" ]"
	note "$1: configuration $(transport_property $H1 Configuration)"
	hs h1 mark
	play_music "$2"
	check "$1: the stream starts" hs h1 wait a2dp 15 start
	check "$1: five seconds of it" music_of h1 5
	music=$(hs h1 a2dp $LEFT $RIGHT)
	note "$1: $(jq -c '{configuration, rate, channels, bitpools, packets, lost, left, right}' <<<"$music")"
	is "$1: no packet is lost" "$(jq -c '[.lost, .sbc_bad, .miscounted]' <<<"$music")" "[0,0,0]"
	case $1 in
		mono) is "mono: channels" "$(jq .channels <<<"$music")" 1;;
		low) at_most "low: bitpool" "$(jq '.bitpools | max' <<<"$music")" 19;;
		44100) is "44100: rate" "$(jq .rate <<<"$music")" 44100;;
	esac
	end_music
}
# From the first to the last packet, sound and time agree within the size of the buffers on the way.
keeps_time() { at_most "$1: sound and time differ by (s)" "$(jq '(.media_s - .span_s) | fabs' <<<"$music")" 0.7; }            # WHAT

# Lab time of the first event at a headset after T; empty if there was none.
event_after() { hs "$1" events | jq --argjson t "$2" --arg k "$3" --arg v "${4:-}" '[.[] | select(.[0] > $t and .[1] == $k and (.[2] | tostring | contains($v)))][0][0] // empty'; }  # h1|h2 T EVENT [VALUE]
before() { _compare "$2" "<" "$3"; }                                             # _ A B
# btcalld waits half a second for a stream to end, and says so when it does not: on a slow machine it ends later.
suspended_first() { # WHAT SUSPENDED OPENED
	local in_time=0
	before _ "$2" "$3" && in_time=1
	check "$1, or the log says why not" eval "[ $in_time = 1 ] || grep -qE 'music goes on; the link is|A2DP has not ended yet' '$SHARE/btcalld.log'"
	at_least "$1" $in_time 1
}
cpu_per_second() { # PID... over 10 s of a stream: milliseconds of CPU per second
	local a=0 b=0 p t=$EPOCHREALTIME
	for p; do a=$((a + $(ticks "$p"))); done
	sleep 10
	for p; do b=$((b + $(ticks "$p"))); done
	awk -v d=$((b - a)) -v s="$(since "$t")" 'BEGIN { printf "%.1f", d * 10 / s }'
}
spent() { # PID: time, CPU ticks in the kernel, and how often its threads have waited
	echo "$EPOCHREALTIME $(awk '{ print $15 }' "/proc/$1/stat") $(cat /proc/"$1"/task/*/status | awk '/^voluntary/ { n += $2 } END { print n }')"
}
spent_since() { # "TIME TICKS WAITS" PID: in words, per second
	awk -v a="$1" -v b="$(spent "$2")" 'BEGIN {
		split(a, x); split(b, y); s = y[1] - x[1]
		printf "%.1f ms of it in the kernel, %.0f wake-ups", (y[2] - x[2]) * 10 / s, (y[3] - x[3]) / s
	}'
}

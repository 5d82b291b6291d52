#!/bin/bash
# lab: limit=600 long=1 bonds="h1"
# A desktop's PipeWire beside btcalld, as docs/questions/PipeWire.md says: with its defaults and with each remedy, started before
# and after btcalld. Who has the headset's calls and its music, and what btcalld and the doctor say. Then PipeWire's music makes
# room for a call, and comes back.
. "$LAB/lib.sh"
. "$LAB/music.sh"
. "$LAB/pipewire.sh"

command -v wireplumber >/dev/null || { ok "this root has no PipeWire: nothing to try # SKIP"; finish; }
note "$(pipewire --version | sed -n 2p), WirePlumber $(wireplumber_release)"
bonded $H1 || fail "headset 1 is paired"
cp -a /var/lib/bluetooth "$WORK/bonds"
{ lab_config; printf '[bluetooth]\na2dp = no\n'; } > "$SHARE/without-a2dp.conf"
start_session || fail "the session bus starts"

# bluetoothd remembers the program that a headset used last: each row begins with one that knows bonds only.
begin_row() {
	hs h1 power off >/dev/null
	kill_bluetoothd
	rm -rf /var/lib/bluetooth/*
	cp -a "$WORK/bonds/." /var/lib/bluetooth/
	start_bluetoothd || fail "bluetoothd starts again"
}
end_row() { hs h1 power off >/dev/null; stop_btcalld; stop_pipewire; }
profile_problem() { btcall status --json | jq -r '[.problems[] | select(.id == "profile") | .what + ": " + .remedy] | join(" ")'; }
has_profile_problem() { [ -n "$(profile_problem)" ]; }
doctor_says() { btcall doctor "$1" --json 2>/dev/null | jq -r "[.findings[] | .what + \": \" + .remedy] | join(\" \")"; }
headset_connects() { # both profiles, paged by the headset as after power on
	hs h1 mark
	hs h1 power on >/dev/null
	hs h1 connect >/dev/null
	hs h1 connect-a2dp >/dev/null
}

# defaults, roles, backend; PipeWire before btcalld, after it.
for way in defaults backend roles; do
	for order in before after; do
		row="$way, PipeWire $order btcalld"
		begin_row
		if [ $way = defaults ]; then remedy; else remedy $way || fail "$row: the page has a line"; fi
		[ $order = before ] && { start_pipewire || fail "$row: PipeWire starts"; }
		start_btcalld "$SHARE/without-a2dp.conf" || fail "$row: btcalld starts"
		[ $order = after ] && { sleep 2; start_pipewire || fail "$row: PipeWire starts"; }
		headset_connects
		music=no; wait_until 10 pipewire_has_music && music=yes
		calls=no; wait_until 5 connected $H1 && calls=yes
		problem=$(profile_problem)
		note "$row: btcalld has its calls: $calls; PipeWire has its music: $music; problem: ${problem:-none}"
		case $way-$order in
		defaults-before)
			is "$row: the headset's calls go to PipeWire" $calls no
			check "$row: btcalld names the program" grep -q "wireplumber" <<<"$problem"
			check "$row: and the line and the file" grep -qF "$(wireplumber_line backend)" <<<"$problem"
			check "$row: the doctor says the same" grep -qF "$(wireplumber_line backend)" <<<"$(doctor_says profile-owner)"
			# As the page says: the file, then a restart of WirePlumber; btcalld takes over.
			remedy backend
			restart_wireplumber
			check "$row: after the remedy btcalld takes over" wait_until 20 eval '! has_profile_problem'
			hs h1 power off >/dev/null
			headset_connects
			check "$row: and has the headset's calls" wait_until 20 connected $H1
			check "$row: music stays with PipeWire" wait_until 15 pipewire_has_music
			;;
		*)
			is "$row: the headset's calls go to btcalld" $calls yes
			is "$row: music stays with PipeWire" $music yes
			is "$row: no problem" "$problem" ""
			is "$row: the doctor finds none" "$(doctor_says profile-owner)" ""
			;;
		esac
		[ $way-$order = roles-after ] || end_row
	done
done

# The last row stays: PipeWire's music makes room for a call.
check "preferred device is set" btcall prefer bluetooth
check "default device is set" btcall default earpiece
make_tones 120
chmod 644 /run/lab/tones.wav
cp "$BTCALL_BIN/btcall" "$WORK/btcall" && chmod 755 "$WORK" "$WORK/btcall"
"${as_desk[@]}" "$WORK/btcall" pause-music >>"$SHARE/pause-music.log" 2>&1 &
PAUSE=$!
check "the helper is ready" wait_until 20 grep -q ready "$SHARE/pause-music.log"
hs h1 mark
"${as_desk[@]}" pw-cat -p --target "$(pipewire_node)" /run/lab/tones.wav >>"$SHARE/pw-cat.log" 2>&1 &
MUSIC=$!
check "PipeWire plays to the headset" hs h1 wait a2dp 20 start
check "the headset hears the music" music_of h1 3
# How long one of the programs takes that the helper starts: it depends on PipeWire's release, and an emulated guest is slow.
startup=$("${as_desk[@]}" bash -c '
	begin=${EPOCHREALTIME/./}
	for n in 1 2 3 4; do pw-link --links --id; done >/dev/null
	echo $(((${EPOCHREALTIME/./} - begin) / 4000))')
note "a start of pw-link: ${startup:-unknown} ms"
# It opens while the call rings, for the headset's own tone.
hs h1 mark
begun=$(lab_time)
test_call --incoming --number +4912345 --far-end tone:700 --seconds 90
check "the call rings" wait_until 10 calls_are ringing
check "audio link opens" hs h1 wait sco 15
check "answered at the headset" hs h1 answer
check "route is the headset" wait_route bluetooth:$H1 10
check "A2DP is suspended" wait_until 15 eval '[ -n "$(event_after h1 "$begun" a2dp)" ]'
check "the call is heard" speech_of h1 5
suspended=$(event_after h1 "$begun" a2dp) opened=$(event_after h1 "$begun" sco)
note "A2DP suspended ${suspended:-never}, SCO opened ${opened:-never}; $(tail -1 "$SHARE/pause-music.log")"
check "the helper paused the music" grep -q "paused for a call: players: 0, disconnected links of PipeWire: 2" "$SHARE/pause-music.log"
# btcalld waits half a second for it. The helper starts four programs: the list, two disconnections, the headset's suspension.
at_most "A2DP is suspended after the audio link opened by (s)" "$(awk -v a="${suspended:-99}" -v b="${opened:-0}" 'BEGIN { print a - b }')" \
	"$(awk -v start="${startup:-0}" 'BEGIN { print 0.5 + 4 * start / 1000 }')"
check "no music is streamed during the call" eval '! streams h1'
check "the player waits" kill -0 "$MUSIC"
hs h1 mark
check "the headset ends the call" hs h1 hangup
check "no call is left" wait_until 10 calls_are ""
check "the music comes back to the headset" hs h1 wait a2dp 15 start
check "four seconds of music after the call" music_of h1 4
hears_music h1 "after the call"
check "the helper says so" grep -q "resumed after the call: connected links of PipeWire: 2" "$SHARE/pause-music.log"
kill "$PAUSE" "$MUSIC"; wait "$PAUSE" "$MUSIC" 2>/dev/null
end_row

# btcalld's A2DP hides the headset from the desktop: the doctor's note.
begin_row
remedy backend
{ lab_config; printf '[bluetooth]\na2dp = yes\n'; } > "$SHARE/with-a2dp.conf"
start_btcalld "$SHARE/with-a2dp.conf" || fail "btcalld starts with A2DP"
headset_connects
check "btcalld has the headset's A2DP" wait_until 20 eval '[ -n "$(device_json bluetooth:$H1 | jq -r ".mediaCodec // empty")" ]'
start_pipewire || fail "PipeWire starts"
is "PipeWire does not have it" "$(pipewire_node)" ""
says=$(doctor_says headset-music)
note "doctor: $says"
check "the doctor's note names the cause" grep -q "btcalld has the A2DP of the headset" <<<"$says"
check "A2DP is left to the desktop" btcall config bluetooth.a2dp no
hs h1 power off >/dev/null
headset_connects
check "PipeWire has it then" wait_until 20 pipewire_has_music
is "and the note is gone" "$(doctor_says headset-music)" ""
end_row
finish

#!/bin/bash
# lab: limit=420 bonds="h1"
# Music of another program: third-party bluez-alsa owns A2DP. First alone, which shows that the headset receives music
# correctly; then with btcalld beside it, which uses only HFP: a call comes and goes, and the music returns. Measures the
# cost of a second of stream for bluez-alsa's daemon, and ours, in the same boot.
. "$LAB/lib.sh"
. "$LAB/softphone.sh"
. "$LAB/music.sh"

# --- bluez-alsa alone -----------------------------------------------------------------------------------------------------
make_tones 240
start_bluealsa --a2dp-volume || fail "bluealsa starts"
bonded $H1 || fail "headset 1 is paired"
check "bluez-alsa: headset 1 connects" connect $H1
check "bluez-alsa: it has a transport" wait_until 15 eval "[ -n \"\$(transport $H1)\" ]"
note "bluez-alsa: configuration $(transport_property $H1 Configuration), delay $(transport_property $H1 Delay), volume $(transport_property $H1 Volume)"
check "bluez-alsa: a delay report is accepted" hs h1 a2dp-delay 150
check "bluez-alsa: the delay is known (1/10 ms)" wait_until 3 eval "[ \"\$(transport_property $H1 Delay)\" = 1500 ]"

PCM=bluealsa:DEV=$H1,PROFILE=a2dp
check "bluez-alsa: volume of 127" busctl --system set-property org.bluez "$(transport $H1)" org.bluez.MediaTransport1 Volume q 127
hs h1 mark
play_music "$PCM"
check "bluez-alsa: the stream starts" hs h1 wait a2dp 15 start
check "bluez-alsa: three seconds of it" music_of h1 3
before=$(spent "$BLUEALSA")
theirs=$(cpu_per_second "$BLUEALSA")
note "bluez-alsa: $theirs ms of the virtual CPU per second of stream, $(spent_since "$before" "$BLUEALSA") ($(transport_property $H1 Configuration))"
hears_music h1 bluez-alsa "$(hs h1 a2dp | jq .rate)"
keeps_time bluez-alsa
hs h1 a2dp-save bluealsa.wav >/dev/null
for channel in 0:$LEFT 1:$RIGHT; do
	share=$(analyse tone bluealsa.wav "${channel#*:}" --channel "${channel%:*}" --from +2 --to -1)
	note "bluez-alsa: channel ${channel%:*}: $(jq -c 'del(.worst)' <<<"$share")"
	at_least "bluez-alsa: share of the energy over all, channel ${channel%:*}" "$(jq .share_mean <<<"$share")" 0.98
done

# The volume, both ways; keys.
check "bluez-alsa: volume from the source" busctl --system set-property org.bluez "$(transport $H1)" org.bluez.MediaTransport1 Volume q 80
check "bluez-alsa: the headset has it" wait_until 3 headset_volume_is h1 80
check_json "bluez-alsa: volume at the headset" "$(hs h1 avrcp-volume 40)" .told
check "bluez-alsa: the source has it" wait_until 3 volume_is $H1 40
for key in play pause stop next previous; do check "bluez-alsa: key $key is accepted" hs h1 avrcp-key $key; done

# The headset suspends and starts the stream itself.
check "bluez-alsa: the headset suspends the stream" hs h1 a2dp-suspend
check "bluez-alsa: the source knows" wait_until 3 eval "! streams h1"
hs h1 mark
check "bluez-alsa: the stream continues" wait_until 10 eval "hs h1 a2dp-start || streams h1"
end_music
note "bluez-alsa: aplay: $(grep -v "^D:" "$SHARE/aplay.log" | sort | uniq -c | head -3 | tr '\n' ';')"

# --- what a headset can be: one that connects first, with less than all of SBC, without Hands-Free ---------------------
for limit in a2dp:mono a2dp:low 1.8:44100; do
	hs h1 power off
	hs h1 profile ${limit%:*}
	limit=${limit#*:}
	hs h1 a2dp-capabilities $limit
	hs h1 power on
	answer=$(hs h1 connect-a2dp)
	note "$limit: $answer"
	check_json "$limit: the headset connects A2DP on its own" "$answer" '.configuration != null or .already'
	case $limit in mono) rate=48000 channels=1;; 44100) rate=44100 channels=2;; *) rate=48000 channels=2;; esac
	# Without rate and channels bluez-alsa 4.3 asks the headset for those of the file.
	echo "pcm.limited { type plug; slave { pcm \"$PCM\"; rate $rate; channels $channels } }" > /etc/asound.conf
	hears_what_it_can $limit limited
done
rm /etc/asound.conf
hs h1 power off
hs h1 a2dp-capabilities default
hs h1 profile 1.8

# --- btcalld beside it ----------------------------------------------------------------------------------------------------
# A command that pauses the player of another program, and resumes it. SIGSTOP is not enough: bluez-alsa keeps the stream as
# long as the player has it open. A paused player closes its device, and opens it again. The daemon's user may not stop
# another user's player: the command asks a process that may.
mkfifo -m 666 /run/lab/player.ask /run/lab/player.done
player_service() {
	local verb address
	while read -r verb address; do
		echo "$EPOCHREALTIME $verb $address" >> /run/lab/media-command.log
		case $verb in
			suspend) kill $(cat /run/lab/player);;
			restore) setsid nice -n -10 aplay -q -D $PCM /run/lab/tones.wav >/run/lab/player.log 2>&1 & echo $! > /run/lab/player;;
		esac
		echo "$verb" > /run/lab/player.done
	done <> /run/lab/player.ask
}
player_service &
cat > /run/lab/media-command <<'EOT'
#!/bin/bash
# VERB ADDRESS
echo "$1 $2" > /run/lab/player.ask
read -r _ < /run/lab/player.done
EOT
chmod 755 /run/lab/media-command
{ lab_config; printf '[bluetooth]\na2dp = yes\nmediaCommand = /run/lab/media-command\n'; } > "$SHARE/btcalld.conf"
start_btcalld "$SHARE/btcalld.conf" || fail "btcalld starts beside bluez-alsa"
check "preferred device is set" btcall prefer bluetooth
check "default device is set" btcall default earpiece
hs h1 mark
check "headset 1 connects" switch_on h1
check "headset 1 is available" wait_until 5 connected $H1
check "A2DP comes up with bluez-alsa" wait_until 20 eval "[ -n \"\$(transport $H1)\" ]"
check "the music plays" eval 'play_music "$PCM"; echo "$MUSIC" > /run/lab/player; hs h1 wait a2dp 15 start'
check "S3.9 peace: btcalld reports that another program has A2DP" wait_until 10 eval "btcall status --json | grep -qi a2dp"
note "status: $(btcall status --json | jq -c '.problems // .')"
note "device: $(device_json bluetooth:$H1)"
check "the headset hears the music" music_of h1 3

begun=$(lab_time)
hs h1 mark                                              # its link opens with the ring
test_call --incoming --number +4912345 --far-end tone:700 --seconds 60
check "the call rings" wait_until 10 calls_are ringing
check "answered at the headset" hs h1 answer
check "audio link opens" hs h1 wait sco 15
check "route is the headset, over HFP" wait_route bluetooth:$H1 5
is "codec" "$(hs h1 status | jq -r .codec)" msbc
check "the player is held" wait_until 10 grep -q "suspend $H1" /run/lab/media-command.log
check "A2DP is suspended" wait_until 10 eval '[ -n "$(event_after h1 "$begun" a2dp)" ]'
suspended=$(event_after h1 "$begun" a2dp) opened=$(event_after h1 "$begun" sco)
note "A2DP suspended ${suspended:-never}, SCO opened ${opened:-never}"
suspended_first "A2DP is suspended before the audio link opens" "$suspended" "$opened"
is "no stream beside the call" "$(streams h1 && echo streaming)" ""
hs h1 sco-reset
check "five seconds of the call" speech_of h1 5
down=$(hs h1 sco 700)
note "call: $(jq -c '{codec, rx_packets, msbc_lost, tone_share_mean, rms_dbfs}' <<<"$down")"
at_least "the call is heard (share of the energy)" "$(jq .tone_share_mean <<<"$down")" 0.9
hs h1 mark
check "the call ends" btcall hangup
check "at the provider, too" wait_test_call 10
check "audio link closes" hs h1 wait sco-lost 10
ended=$(event_after h1 "$opened" sco-lost)
check "the music is back: the player goes on" wait_until 10 grep -q "restore $H1" /run/lab/media-command.log
check "the music is back: the stream" wait_until 15 streams h1
back=$(event_after h1 "$ended" a2dp start)
gap=$(awk -v a="$ended" -v b="${back:-0}" 'BEGIN { printf "%.2f", b - a }')
at_least "the music is back after (s)" "$gap" 1.5
at_most "the music is back within (s)" "$gap" 8         # 2 s, and the start of a player on this machine
check "three seconds of music after the call" music_of h1 3
hears_music h1 "after the call" "$(hs h1 a2dp | jq .rate)"
kill "$(cat /run/lab/player)"

# --- our own stream, same boot, same tone, same headset -------------------------------------------------------------------
hs h1 power off
stop_btcalld
kill "$BLUEALSA"; wait "$BLUEALSA"
install_pcm || fail "the plug-in is installed"
{ lab_config | sed '/^\[ring\]/a pageDevice = bluetooth'; printf '[bluetooth]\na2dp = yes\n'; } > "$SHARE/own.conf"
start_btcalld "$SHARE/own.conf" || fail "btcalld starts alone"
check "own: headset 1 connects" switch_on h1
check "own: it has a transport" wait_until 20 eval "[ -n \"\$(transport $H1)\" ]"
hs h1 mark
play_music btcall:page
check "own: the stream starts" hs h1 wait a2dp 15 start
check "own: three seconds of it" music_of h1 3
before=$(spent "$BTCALLD")
ours=$(cpu_per_second "$BTCALLD")
note "own: $ours ms of the virtual CPU per second of stream, $(spent_since "$before" "$BTCALLD")"
hears_music h1 own "$(hs h1 a2dp | jq .rate)"
note "CPU per second of stream: btcalld $ours ms, bluez-alsa $theirs ms: $(awk -v a="$ours" -v b="$theirs" 'BEGIN { printf "%.2f", a / b }') times as much (SBC configuration $(transport_property $H1 Configuration); Tests/Lab/run-all 90; Tests/Benchmarks has the encoder alone)"
end_music
stop_btcalld
finish

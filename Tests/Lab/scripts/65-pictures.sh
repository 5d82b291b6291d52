#!/bin/bash
# lab: limit=360 alone=1 long=1
# The pictures of btcall-video in a video call of two baresip: the board's takes its picture from v4l2loopback, and the far one
# keeps samples of what it has received. The cameras' pictures carry their own time (guest/picture.py), so that an old or a frozen
# one is seen. Camera changed, switched off, held, pulled out (vivid) and back; a tap whose client is killed, without a call and
# in one; idle before and after.
. "$LAB/lib.sh"
. "$LAB/softphone.sh"

modinfo v4l2loopback >/dev/null 2>&1 || { ok "there is no v4l2loopback for this kernel: nothing to try # SKIP"; finish; }

bus=(busctl --system --timeout=10 --json=short)
video=(org.btcall.Video /org/btcall/video org.btcall.Video1)
of_video() { "${bus[@]}" get-property "${video[@]}" "$1"; }                      # PROPERTY
set_camera() { "${bus[@]}" call "${video[@]}" SetCamera s "$1"; }
picture() { of_video Picture | jq -r '.data | [.local.data, .cause.data // empty] | join(" ")'; }
picture_is() { [ "$(picture)" = "$1" ]; }
# Descriptors of cameras, without the device that it writes to.
cameras_of() { find "/proc/$1/fd" -lname '/dev/video*' ! -lname "$output" | wc -l; }      # PROCESS
holds_no_camera() { [ "$(cameras_of $VIDEO)" = 0 ]; }
descriptors_of() { find "/proc/$1/fd" -type l -printf '%l\n' | sed -E 's/\[[0-9]+\]//' | sort; }               # PROCESS
switches_of() { awk '/^Pid:/ { thread = $2 } /ctxt_switches:/ { sum[thread] += $2 } END { for (each in sum) print each, sum[each] }' /proc/$1/task/*/status; }
# Of all threads since `switches_of`; one that has ended since then does not count.
wake_ups() { # PROCESS BEFORE
	{ echo "$2"; echo; switches_of "$1"; } | awk '!NF { now = 1; next } !now { before[$1] = $2; next } { sum += $2 - before[$1] } END { print sum + 0 }'
}
call_path() { "${bus[@]}" get-property org.btcall /org/btcall/calls org.btcall.Calls1 Calls | jq -r '.data[0]'; }
local_video() { busctl --system set-property org.btcall "$(call_path)" org.btcall.Call1 LocalVideoEnabled b "$1"; }
pictures=(python3 "$LAB/guest/picture.py")
# What the reader of the loopback device has got between two times.
between() { cp "$WORK/read.log" "$SHARE/"; analyse pictures read "$1" "$2"; }     # FROM TO
# Samples of what the far baresip decodes, as they are while this runs; in $SHARE/NAME. The host says what is in them.
sample() { # NAME SECONDS
	local end=$((${EPOCHREALTIME/./} + $2 * 1000000))
	mkdir "$SHARE/$1"
	rm -f "$WORK"/far-*.png
	while [ "${EPOCHREALTIME/./}" -lt $end ]; do
		far snapshot
		read -r -t 0.2 -u 6
	done
	mv "$WORK"/far-*.png "$SHARE/$1/"
	far_said=$(analyse pictures "$1")
	note "$1: the far end: $far_said"
}
# Processor time of each program in a window, in percent of the virtual CPU.
load() {
	local name pid words=
	for name in btcalld=$BTCALLD btcall-video=$VIDEO board=$BOARD_PHONE far=$FAR_PHONE camera=$CAMERA1 reader=$READER collector=$COLLECTOR; do
		pid=${name#*=}
		words="$words ${name%=*} $(ticks "$pid")"
	done
	echo "$EPOCHREALTIME$words"
}
loads() { awk -v a="$1" -v b="$2" 'BEGIN { split(a, x); n = split(b, y); for (i = 3; i <= n; i += 2) printf "%s %.0f %% ", y[i - 1], (y[i] - x[i]) / (y[1] - x[1]) }'; }

mkdir -p "$WORK/cwd" && cd "$WORK/cwd" || fail "a directory of its own"            # baresip writes samples there
mkfifo "$WORK/never" && exec 6<>"$WORK/never"                                    # a pause without a program
cp "$ROOT/dbus/org.btcall.Video.conf" /etc/dbus-1/system.d/
# No device: the sound of a call would take a third of the virtual CPU.
{ lab_config; printf '[routing]\nexclude = earpiece, speakerphone\n'; } > "$SHARE/silent.conf"
start_btcalld "$SHARE/silent.conf" || fail "btcalld starts"
# As in packaging/v4l2loopback, with two more devices as cameras: what is written to them, they deliver.
modprobe v4l2loopback devices=3 video_nr=9,10,11 exclusive_caps=0,0,0 card_label="btcall,lab camera 1,lab camera 2" || fail "v4l2loopback is loaded"
cp "$ROOT/packaging/v4l2loopback/udev.rules" /run/lab/rules/71-btcall-video.rules
udevadm control --reload
udevadm trigger --action=add --subsystem-match=video4linux
udevadm settle --timeout=20
output=/dev/video9
is "udev makes the name of the device" "$(readlink -f /dev/video-btcall)" $output
for number in 1 2; do
	"${pictures[@]}" camera /dev/video$((9 + number)) 160x90 10 $number 2>>"$SHARE/cameras.log" &
	eval "CAMERA$number=$!"
done
first=platform:v4l2loopback-001-video-index0 second=platform:v4l2loopback-002-video-index0
cat > "$SHARE/video.conf" <<-EOF
	[video]
	resolution = 160x90
	framesPerSecond = 10
	name = Front door
	[camera front]
	device = $first
	[camera back]
	device = $second
	[output]
	device = /dev/video-btcall
EOF

# --- two softphones --------------------------------------------------------------------------------------------------------
mkdir -p "$WORK/board"
{
	softphone_config 5060 $BOARD_CONTROL "ausine,440" "" "" ausine vp8 v4l2 fakevideo
	printf '%s\n' "ausrc_srate 48000" "ausrc_channels 2" "video_source v4l2,/dev/video-btcall" "video_display fakevideo,nil" \
		"video_size 160x90" "video_fps 10" "video_bitrate 300000"
} > "$WORK/board/config"
echo "\"Board\" <$BOARD>;regint=0;outbound=\"sip:${FAR#*@};lr\"" > "$WORK/board/accounts"
: > "$WORK/board/contacts"
baresip -f "$WORK/board" </dev/null >>"$SHARE/baresip-board.log" 2>&1 &
BOARD_PHONE=$!
FAR_MODULES="vp8 fakevideo snapshot" FAR_CONFIG="video_source fakevideo,nil
video_display fakevideo,nil
video_size 160x90
video_fps 1"
"${pictures[@]}" collect . "$WORK/far" 2>>"$SHARE/cameras.log" &
COLLECTOR=$!
far_softphone || fail "the far baresip starts"
FOLLOWER_KEYS="video = sendReceive"
start_follower || fail "btcall-baresip starts"
check "baresip is followed" wait_until 40 grep -q "following baresip" "$SHARE/btcall-baresip.log"
check "and is a provider" wait_until 10 grep -q "baresip registered as call provider" "$SHARE/btcalld.log"

# --- idle ------------------------------------------------------------------------------------------------------------------
"$BTCALL_BIN/btcall-video" --config "$SHARE/video.conf" --state "$WORK/video" --foreground 2>>"$SHARE/btcall-video.log" &
VIDEO=$!
wait_until 15 owns_name org.btcall.Video || fail "btcall-video starts"
check_json "the device that it writes to is no camera" "$(of_video Cameras)" ".data | map(.id.data) | sort == [\"$first\", \"$second\"]"
# LOG: who reads the pictures of a tap. It starts in a second, in which pictures would become old.
start_reader() {
	rm -f "$WORK/tap"
	mkfifo "$WORK/tap" && exec 5<>"$WORK/tap"
	"${pictures[@]}" y4m < "$WORK/tap" > "$WORK/$1.log" 5>&- &
	FILE=$!
}
start_reader tap-alone
sleep 2
is "idle: no camera is held" "$(cameras_of $VIDEO)" 0
is "idle: there is no picture" "$(picture)" none
before=$(switches_of $VIDEO)
sleep 5
at_most "idle: wake-ups of btcall-video in 5 s" "$(wake_ups $VIDEO "$before")" 1

# --- taps ------------------------------------------------------------------------------------------------------------------
# WHAT LOG CARDS: a client reads the local picture, and is killed. It sees the card until the camera is open, at most so often.
tap() {
	local said
	"$BTCALL_BIN/btcall" video watch local >&5 5>&- 2>>"$SHARE/cameras.log" &
	WATCH=$!
	exec 5>&-
	check "S2.3 $1: it gets pictures" wait_until 20 eval '[ "$(grep -c " 1 " "$WORK/'$2'.log")" -gt 10 ]'
	is "$1: one tap is open" "$(of_video Taps | jq .data)" 1
	kill -9 $WATCH
	wait $WATCH $FILE 2>/dev/null
	cp "$WORK/$2.log" "$SHARE/"
	said=$(analyse pictures "$2")
	note "$1: $said"
	check_json "S2.3 $1: it has seen the first camera" "$said" '[.runs[][0]] == ["1"] and .without_code <= '$3
	at_most "$1: its oldest picture (ms)" "$(jq .age_ms_max <<<"$said")" 500
	check "S2.3 $1: a killed client has none" wait_until 5 eval '[ "$(of_video Taps | jq .data)" = 0 ]'
}
tap "a tap without a call" tap-alone 1000
check "its picture ends with it" wait_until 5 picture_is none
check "and the camera is closed" wait_until 5 holds_no_camera
# GStreamer, which was loaded for the tap, keeps some.
sleep 1
descriptors_of $VIDEO > "$WORK/idle-descriptors"

# --- a video call ----------------------------------------------------------------------------------------------------------
far dial "$BOARD"
check "a call rings" wait_until 15 calls_are ringing
check "S2.3 the camera is seen before the answer" wait_until 10 picture_is camera
"${pictures[@]}" read /dev/video-btcall > "$WORK/read.log" 2>>"$SHARE/cameras.log" &
READER=$!
far_mark
check "it is answered" btcall answer
check "the far end hears of the answer" far_wait "$(far_event CALL_ESTABLISHED)" 10
sleep 3
from=$EPOCHREALTIME
before=$(load)
sample quiet 8
note "load: $(loads "$before" "$(load)")"
said=$(between $from $EPOCHREALTIME)
note "the softphone's device: $said"
check_json "S2.2 it delivers the first camera, and nothing else" "$said" '[.runs[][0]] == ["1"] and .without_code <= 1'
at_most "its oldest picture (ms)" "$(jq .age_ms_max <<<"$said")" 500
at_most "the longest time without a new picture there (ms)" "$(jq .still_ms <<<"$said")" 400
check_json "the far end sees the first camera, and nothing else" "$far_said" '[.runs[][0]] == ["1"] and .without_code <= 1'
at_least "samples there" "$(jq .pictures <<<"$far_said")" 16
at_most "its oldest picture there (ms)" "$(jq .age_ms_max <<<"$far_said")" 500
at_most "the longest time without a new picture there (ms)" "$(jq .still_ms <<<"$far_said")" 800

# --- another camera --------------------------------------------------------------------------------------------------------
from=$EPOCHREALTIME
(for camera in back front back front; do sleep 2.5; set_camera $camera; done) >/dev/null &
CHANGES=$!
sample changes 18
wait $CHANGES
said=$(between $from $EPOCHREALTIME)
note "the softphone's device: $said"
is "S2.27 the camera is changed four times" "$(jq -r '[.runs[][0]] | join(" ")' <<<"$said")" "1 2 1 2 1"
at_most "S2.27 the longest gap (ms)" "$(jq '[.switches[].ms] | max' <<<"$said")" 300
check_json "no card between them" "$said" '[.switches[].without] | max <= 1'
is "the far end sees each of them" "$(jq -r '[.runs[][0]] | join(" ")' <<<"$far_said")" "1 2 1 2 1"
at_most "its oldest picture while switching (ms)" "$(jq .age_ms_max <<<"$far_said")" 500
at_most "the longest time without a new picture there (ms)" "$(jq .still_ms <<<"$far_said")" 800

# --- the card --------------------------------------------------------------------------------------------------------------
# WHAT CAUSE COMMAND… -- COMMAND…: the card between two commands, and never the last picture of the camera.
card() {
	local what=$1 cause=$2 from begin; shift 2
	begin=()
	while [ "$1" != -- ]; do begin+=("$1"); shift; done
	shift
	check "$what" "${begin[@]}"
	check "$what: the card" wait_until 5 picture_is "card $cause"
	check "$what: no camera is held" wait_until 5 holds_no_camera
	sleep 0.5
	from=$EPOCHREALTIME
	sample "$cause" 3
	said=$(between $from $EPOCHREALTIME)
	note "$what: $said"
	check_json "$what: pictures go on, all of them the card" "$said" '.pictures > 10 and .without_code == .pictures and .different <= 2'
	check_json "$what: the far end sees no camera" "$far_said" '.pictures > 3 and .without_code == .pictures'
	check "$what: and back" "$@"
	check "$what: the camera again" wait_until 5 picture_is camera
	from=$EPOCHREALTIME
	sleep 1.5
	check_json "$what: its pictures are new" "$(between $from $EPOCHREALTIME)" '[.runs[][0]] == ["1"] and .age_ms_max <= 1000'
}
card "S2.7 switched off" disabled local_video false -- local_video true
check "held" btcall hold
check "held: the card" wait_until 5 picture_is "card held"
check "held: resumed" btcall resume
check "held: the camera again" wait_until 5 picture_is camera

# --- a camera that is pulled out --------------------------------------------------------------------------------------------
# Its driver lets go of it while it captures, as a driver of USB does; then it is unloaded.
vivid=platform:vivid-000-video-index0
plug_in() { modprobe vivid n_devs=1 node_types=0x1 num_inputs=1 input_types=0x0; }
pull_out() {
	echo vivid.0 > /sys/bus/platform/drivers/vivid/unbind || return 1
	wait_until 5 modprobe -r vivid && return
	note "still open: $(find /proc/[0-9]*/fd -lname '/dev/video*' -printf '%p %l\n' 2>/dev/null | grep deleted); mapped: $(grep /dev/video /proc/[0-9]*/maps | grep deleted); $(lsmod | grep ^vivid)" >&2
	return 1
}
has_vivid() { [ "$(of_video Cameras | jq '.data | length')" = 3 ]; }
plug_in || fail "the kernel has vivid"
check "the third camera is there" wait_until 10 has_vivid
check "it is chosen" set_camera $vivid
check "its picture is taken" wait_until 10 picture_is camera
for round in 1 2; do
	sleep 1
	from=$EPOCHREALTIME
	sleep 1.5
	said=$(between $from $EPOCHREALTIME)
	check_json "pulled $round: before it, moving pictures of it" "$said" '.without_code == .pictures and .different > 6'
	check "pulled $round: it is pulled out, and its driver unloaded" pull_out
	check "S2.27 pulled $round: the card" wait_until 5 picture_is "card noCamera"
	from=$EPOCHREALTIME
	sleep 1.5
	said=$(between $from $EPOCHREALTIME)
	note "pulled $round: $said"
	check_json "pulled $round: pictures go on, all of them the card" "$said" '.pictures > 7 and .without_code == .pictures and .different <= 2'
	check "pulled $round: it comes back" plug_in
	check "S2.27 pulled $round: the camera again" wait_until 15 picture_is camera
done
start_reader tap-call
check "the first camera again" set_camera front
check "its picture is taken" wait_until 5 picture_is camera

tap "a tap in the call" tap-call 1

# --- the end ----------------------------------------------------------------------------------------------------------------
far hangup
check "the call ends" wait_until 10 calls_are ""
check "no picture is left" wait_until 5 picture_is none
check "no camera is held" wait_until 5 holds_no_camera
check "the softphone's device stays" test -c /dev/video-btcall
kill $READER
wait $READER 2>/dev/null
sleep 2
descriptors_of $VIDEO > "$WORK/descriptors"
is "descriptors that it had not before the call" "$(comm -13 "$WORK/idle-descriptors" "$WORK/descriptors")" ""
before=$(switches_of $VIDEO)
sleep 5
at_most "idle again: wake-ups in 5 s" "$(wake_ups $VIDEO "$before")" 1
kill $VIDEO
wait $VIDEO
is "btcall-video ends with status 0" $? 0
stop_follower
end_softphones
kill $CAMERA1 $CAMERA2 $COLLECTOR
stop_btcalld
finish

#!/bin/bash
# lab: limit=240
# btcall-video with the kernel's test driver of cameras (vivid): sizes and rates that it enumerates, what it is set to as read
# from the driver itself, another program that captures, a camera that is pulled and comes back, a restart, a missing right.
. "$LAB/lib.sh"

camera() { python3 "$LAB/guest/camera.py" "$@"; }
bus=(busctl --system --timeout=10 --json=short)
video=(org.btcall.Video /org/btcall/video org.btcall.Video1)
of_video() { "${bus[@]}" get-property "${video[@]}" "$1"; }                      # PROPERTY
set_camera() { "${bus[@]}" call "${video[@]}" SetCamera s "$1"; }
set_capture() { "${bus[@]}" call "${video[@]}" SetCapture su "$1" "$2"; }        # SIZE RATE
access() { "${bus[@]}" call "${video[@]}" RequestAccess bb false true; }
start_video() {
	"$BTCALL_BIN/btcall-video" --config "$SHARE/video.conf" --state "$WORK/video" --foreground 2>>"$SHARE/btcall-video.log" &
	VIDEO=$!
	wait_until 15 owns_name org.btcall.Video
}
stop_video() { kill $VIDEO; wait $VIDEO; }
# Its rates depend on the kernel: 6.1 has 30 frames a second up to 640x360, 25 at 640x480, 12.5 at 1280x720; 6.12 also 30 at these two.
plug_in() { modprobe vivid n_devs=2 node_types=0x1,0x1 num_inputs=1,1 input_types=0x0,0x0; }
reached() { of_video CameraSettings | jq -r '.data | "\(.width.data)x\(.height.data) \(.format.data) \(.framesPerSecond.data)"'; }
per_second() { awk -F '[ /]' '{ print $1, $2, $4 / $3 }' <<<"$1"; }               # SIZE FORMAT INTERVAL
reaches() { [ "$(reached)" = "$1" ]; }
is_set() { of_video CameraSettings | jq -e '.data | length > 0' >/dev/null; }
camera_is() { [ "$(of_video Camera | jq -r .data) $(of_video CameraSettings | jq -r .data.id.data)" = "$1 $2" ]; }   # WORD ID
devices_of() { find "/proc/$1/fd" -lname '/dev/video*' | wc -l; }                # PROCESS

reload_bus() { dbus-send --system --type=method_call --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.ReloadConfig >/dev/null; }

cp "$ROOT/dbus/org.btcall.Video.conf" /etc/dbus-1/system.d/
reload_bus
plug_in || fail "the kernel has vivid"
check "there are two nodes" wait_until 5 test -c /dev/video0 -a -c /dev/video1
first=platform:vivid-000-video-index0 second=platform:vivid-001-video-index0
printf '[camera front]\ndevice = %s\n[camera back]\ndevice = %s\n' $first $second > "$SHARE/video.conf"
start_video || fail "btcall-video starts"
btcall video cameras --json > "$SHARE/cameras.json"
is "cameras and their names" "$(jq -r '.cameras | map("\(.cameraId) \(.aliases[0])") | join(", ")' < "$SHARE/cameras.json")" "$first front, $second back"
node=$(jq -r '.cameras[0].path' < "$SHARE/cameras.json")

# --- size and rate -------------------------------------------------------------------------------------------------------
with_30=$(camera auto "$node" 30)
is "S2.4 auto with 30 frames: the largest size that holds them" "$(reached)" "$(per_second "$with_30")"
is "the driver has that" "$(camera read "$node")" "$with_30"
check "640x480" btcall video set --resolution 640x480 --rate 30
nearest=$(camera nearest "$node" 640x480 30)
is "S2.4 30 frames requested at 640x480: the nearest legal rate is reported" "$(reached)" "$(per_second "$nearest")"
is "the driver has that" "$(camera read "$node")" "$nearest"
check "auto again" set_capture auto 12
with_12=$(camera auto "$node" 12)
is "S2.4 auto with 12 frames" "$(reached)" "$(per_second "$with_12")"
check "what is not legal" set_capture 700x400 1000
fastest=$(camera nearest "$node" 640x360 1000)
is "S2.4 700x400 and 1000 frames: the nearest of both" "$(reached)" "$(per_second "$fastest")"
# What the driver of 6.1 is known to have, whatever it lists.
[[ $(uname -r) != 6.1.* ]] || is "what was expected" "$with_30, $nearest, $with_12, $fastest" \
	"640x360 NV12 1/30, 640x480 NV12 1/25, 1280x720 NV12 2/25, 640x360 NV12 1/40"
is "no camera is held" "$(devices_of $VIDEO)" 0

# --- another program, and the choice --------------------------------------------------------------------------------------
python3 "$LAB/guest/camera.py" hold "$node" > "$WORK/held" &
holder=$!
check "another program captures" wait_until 5 test -s "$WORK/held"
check_json "S2.5 access: in use, by name" "$(access)" '.data[0] | .camera.data == false and .cameraCause.data == "inUse" and (.cameraReason.data | contains("python3"))'
check "another rate is requested meanwhile" set_capture 700x400 30
check "its settings are left alone" eval "! is_set"
check_json "and the reason is said" "$(of_video Problem)" '.data | contains("in use")'
is "and the driver has the former" "$(camera read "$node")" "$fastest"
kill $holder; wait $holder 2>/dev/null
check_json "S2.5 afterwards it may be used" "$(access)" '.data[0].camera.data'
check "auto and 30" set_capture auto 30
check "the other camera is chosen" set_camera back
check "S2.27 and set" camera_is back $second
stop_video
is "it ends with status 0" $? 0
start_video || fail "btcall-video starts again"
check "S2.27 the choice is kept" camera_is back $second
is "an unknown camera is refused with the list" "$(btcall video set side 2>&1)" \
	"btcall: there is no camera \"side\"; accepted: front, back, $first, $second"

# --- pulled, and back -----------------------------------------------------------------------------------------------------
for i in 1 2; do
	check "pulled $i: the driver goes" modprobe -r vivid
	check "pulled $i: noticed" wait_until 5 eval "! is_set"
	check_json "S2.5 pulled $i: no device" "$(access)" '.data[0].cameraCause.data == "noDevice"'
	check "pulled $i: it comes back" plug_in
	check "S2.27 pulled $i: the camera is set again" wait_until 10 reaches "$(per_second "$with_30")"
done
stop_video

# --- without the right ------------------------------------------------------------------------------------------------------
chmod 600 /dev/video0 /dev/video1
mkdir -p "$WORK/nobody" && chown nobody "$WORK/nobody"
printf '<busconfig><policy user="nobody"><allow own="org.btcall.Video"/></policy></busconfig>\n' > /etc/dbus-1/system.d/lab-video.conf
reload_bus
printf '[camera front]\ndevice = /dev/video0\n' > "$WORK/nobody/video.conf" && chmod 644 "$WORK/nobody/video.conf" && chmod 755 /run/lab "$WORK"
setpriv --reuid nobody --regid nogroup --clear-groups "$BTCALL_BIN/btcall-video" --config "$WORK/nobody/video.conf" \
	--state "$WORK/nobody/state" --foreground 2>>"$SHARE/btcall-video.log" &
VIDEO=$!
wait_until 15 owns_name org.btcall.Video || fail "btcall-video starts without the right"
check_json "S2.5 access: no right" "$(access)" '.data[0].camera.data == false and .data[0].cameraCause.data == "noPermission"'
check_json "the cameras are listed as not permitted" "$(of_video Cameras)" '.data | length == 2 and (map(.permitted.data) | any | not)'
stop_video
finish

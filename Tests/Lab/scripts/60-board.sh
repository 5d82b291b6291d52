#!/bin/bash
# lab: limit=560 qemu="-device qemu-xhci -audiodev none,id=usb -device usb-audio,audiodev=usb"
# The board's own controls: jack by control elements and by an input device, hook by a key and by a GPIO line, the mixer and
# another program that changes it, cards that come and go. No Bluetooth.
. "$LAB/lib.sh"

# --- the board ------------------------------------------------------------------------------------------------------------
device() { # NAME PROGRAM ARGUMENTS: a device that exists as long as its program runs; "tell NAME WORDS" changes it
	local name=$1 descriptor
	shift
	rm -f "$WORK/$name.pipe" "$WORK/$name.out"
	mkfifo "$WORK/$name.pipe"
	"$@" <"$WORK/$name.pipe" >"$WORK/$name.out" 2>&1 &
	declare -g "${name}_process=$!"
	exec {descriptor}>"$WORK/$name.pipe"
	declare -g "${name}_input=$descriptor"
	wait_until 15 grep -q ready "$WORK/$name.out" || { sed 's/^/# /' "$WORK/$name.out"; return 1; }
}
tell() { local input=${1}_input; echo "${*:2}" >&"${!input}"; }                  # NAME WORDS
remove_device() { # NAME
	local input=${1}_input process=${1}_process
	eval "exec ${!input}>&-"
	kill "${!process}"
	wait "${!process}" 2>/dev/null
}
plug() { lab-control hw:2 set "Headphone Jack" 1 set "Headset Mic Jack" 1; }
unplug() { lab-control hw:2 set "Headphone Jack" 0 set "Headset Mic Jack" 0; }
add_jack() { lab-control hw:2 jack "Headphone Jack" jack "Headset Mic Jack"; }
volume() { lab-control hw:0 get "Speaker Playback Volume"; }
volume_is() { [ "$(volume)" = "$1" ]; }
refresh() { busctl --system call org.btcall /org/btcall/router org.btcall.Router1 Refresh; }
has_problem() { json '.problems[].id' status | grep -qx "$1"; }                  # ID
problem() { json ".problems[] | select(.id == \"$1\") | \"\(.what); \(.remedy)\"" status; }   # ID
unavailable() { device_json "$1" | jq -r .unavailableBecause; }                  # DEVICE
is_available() { [ "$(device_json "$1" | jq .available)" = true ]; }             # DEVICE
is_away() { ! is_available "$1"; }
logged() { grep -c "$1" "$SHARE/btcalld.log"; }                                  # WORDS
wakeups() { cat /proc/"$BTCALLD"/task/*/status | awk '/^voluntary/ { sum += $2 } END { print sum }'; }
config() { # KEYS of the wired headset, of the earpiece, of [audio]
	cat <<-CONFIG
	[daemon]
	logLevel = debug
	[audio]
	voiceProcessing = none
	$3
	[device earpiece]
	playback = hw:0,0
	capture = hw:0,0
	$2
	[device speakerphone]
	playback = hw:1,0
	capture = hw:1,0
	[device wiredHeadset]
	$1
	[ring]
	device = none
	tones = none
	[routing]
	jackMasksEarpiece = no
	jackDebounceMilliseconds = 1000
	CONFIG
}
restart_btcalld() { # CONFIG TEXT
	stop_btcalld
	echo "$1" > "$SHARE/btcalld.conf"
	start_btcalld "$SHARE/btcalld.conf" || fail "btcalld starts again"
}

modprobe -r snd-aloop
modprobe snd-aloop enable=1,1,1 index=0,1,2 pcm_substreams=2,2,2
modprobe -a evdev uinput uhid hid-cp2112 || fail "the kernel has the modules"
add_jack || fail "the card has a jack"
lab-control hw:0 volume Speaker 50 set "Speaker Playback Volume" 10 || fail "the card has a mixer"
device cradle lab-input "Lab Cradle" key:169 || fail "there is a cradle"

# --- jack by control elements, hook by a key, mixer -----------------------------------------------------------------------
wired="playback = hw:2,0
capture = hw:2,0"
config "$wired
jack = Headphone Jack, Headset Mic Jack" "mixer = Speaker
volume = 80
hook = evdev:Lab Cradle:KEY_PHONE" > "$SHARE/btcalld.conf"
start_btcalld "$SHARE/btcalld.conf" || fail "btcalld starts"
check "no device is preferred" btcall prefer none
check "default device is set" btcall default earpiece
is "the socket is empty" "$(unavailable wiredHeadset)" "nothing is plugged in"
is "without a call the mixer is left alone" "$(volume)" 10
is "problems" "$(json '.problems | length' status)" 0

test_call --outgoing --number 1001 --far-end tone:700 --seconds 200
check "route is the earpiece" wait_route earpiece 25
check "the mixer is set to 80 %" wait_until 3 volume_is 40
check "plugged: route is the wired headset" eval "plug && wait_route wiredHeadset 5"
is "its microphone is used" "$(device_json wiredHeadset | jq -r .input)" jackMic
golden why-jack-in-call.txt why
check "unplugged: route is the earpiece" eval "unplug && wait_route earpiece 5"

routes=$(logged "route:")
lab-control hw:2 set "Headphone Jack" 1 sleep 60 set "Headphone Jack" 0
sleep 2
is "two quick edges of the jack move nothing" "$(logged "route:")" "$routes"

lab-control hw:2 set "Headphone Jack" 1
check "headphones without microphone take the call" wait_route wiredHeadset 5
is "with the board's microphone" "$(device_json wiredHeadset | jq -r .input)" builtinMic
check "which is the loudspeaker's" wait_until 3 grep -q "opened the microphone of wiredHeadset: hw:1,0 s16 48000 Hz" "$SHARE/btcalld.log"
lab-control hw:2 set "Headset Mic Jack" 1
check "its own when it has one" wait_until 5 grep -q "opened the microphone of wiredHeadset: hw:2,0 s16 48000 Hz" "$SHARE/btcalld.log"
check "the route stays" route_is wiredHeadset
check "unplugged again" eval "unplug && wait_route earpiece 5"

check "the loudspeaker is preferred" btcall prefer speakerphone
check "route is the loudspeaker" wait_route speakerphone 5
tell cradle key 169 1
check "handset lifted: route is the earpiece" wait_route earpiece 5
tell cradle key 169 0
check "hung up: route is the loudspeaker, the call continues" wait_route speakerphone 5
check "the call is active" calls_are active
remove_device cradle
check "without the cradle there is a problem" wait_until 5 has_problem hook.earpiece
note "$(problem hook.earpiece)"
device cradle lab-input "Lab Cradle" key:169
check "with it there is no problem" wait_until 5 eval "! has_problem hook.earpiece"
tell cradle key 169 1
check "lifted again: route is the earpiece" wait_route earpiece 5
tell cradle key 169 0
check "no device is preferred again" btcall prefer none
check "route is the earpiece again" wait_route earpiece 5

# --- another program moves the mixer --------------------------------------------------------------------------------------
check "the mixer is set again with the route" wait_until 3 volume_is 40
is "no change of btcalld's own counts as foreign" "$(logged foreign-change)" 0
lab-control hw:0 set "Speaker Playback Volume" 5
check "an outside change is undone" wait_until 3 volume_is 40
is "once" "$(logged "foreign-change.*set again")" 1
lab-control hw:0 set "Speaker Playback Switch" 0
check "and a switch" wait_until 3 eval '[ "$(lab-control hw:0 get "Speaker Playback Switch")" = 1 ]'
lab-control hw:0 set "Speaker Playback Volume" 20
check "the third within ten seconds is left" wait_until 5 has_problem mixer.earpiece
is "at what the other program wants" "$(volume)" 20
golden why-mixer-left.txt why
note "$(problem mixer.earpiece)"
check "Refresh is accepted" refresh
is "and sets it again" "$(volume)" 40
check "the problem is cleared" wait_until 3 eval "! has_problem mixer.earpiece"
check "the route is the same" route_is earpiece

# --- the card is pulled in a call, and comes back ------------------------------------------------------------------------
check "plugged: route is the wired headset again" eval "plug && wait_route wiredHeadset 5"
start=$EPOCHREALTIME
echo snd_aloop.2 > /sys/bus/platform/drivers/snd_aloop/unbind
check "the card is pulled: route is the earpiece" wait_route earpiece 5
note "seen from outside $(since "$start") after the pull"
check "the wired headset is not available" wait_until 5 is_away wiredHeadset
note "$(unavailable wiredHeadset)"
echo snd_aloop.2 > /sys/bus/platform/drivers/snd_aloop/bind
check "the card is back, its socket has no jack yet" wait_until 10 has_problem jack.wiredHeadset
note "$(problem jack.wiredHeadset)"
add_jack && plug && refresh
check "with its jack it is available" wait_until 10 is_available wiredHeadset
check "and gets the call" wait_route wiredHeadset 5
unplug
check "unplugged at last" wait_route earpiece 5

kill $TEST_CALL
check "the call has ended" wait_until 10 calls_are ""
is "threads" "$(ls /proc/$BTCALLD/task | wc -l)" 2
sleep 1
before=$(wakeups)
sleep 5
is "wake-ups in five idle seconds" "$(($(wakeups) - before))" 0

# --- jack by an input device, hook by a GPIO line, a mixer that does not exist --------------------------------------------
device jack lab-input "Lab Jack" sw:2 sw:4 || fail "there is an input device"
tell jack sw 2 1
restart_btcalld "$(config "$wired
jack = evdev:Lab Jack" "mixer = Speeker
hook = !gpio:cp2112_gpio:3")"
check "a headset plugged in at the start is available" wait_until 5 is_available wiredHeadset
is "without microphone" "$(device_json wiredHeadset | jq -r .input)" builtinMic
check "the mixer does not exist" has_problem mixer.earpiece
is "and the problem says which do" "$(problem mixer.earpiece)" "earpiece: the mixer is not set: hw:0 has no mixer control Speeker; it has Speaker"
check "there is no GPIO chip yet" has_problem hook.earpiece
note "$(problem hook.earpiece)"
device chip lab-gpio || fail "there is a GPIO chip"
check "it is found when it comes" wait_until 5 eval "! has_problem hook.earpiece"
tell chip 3 1
tell jack sw 2 0
# Otherwise the next edge comes within the debounce time, and the jack was never empty.
check "the input device says that the jack is empty" wait_until 5 is_away wiredHeadset
test_call --outgoing --number 1002 --far-end tone:700 --seconds 100
check "route is the earpiece by default" wait_route earpiece 25
tell jack sw 2 1
check "plugged by the input device" wait_route wiredHeadset 5
tell jack sw 2 0
check "unplugged by the input device" wait_route earpiece 5
routes=$(logged "route:")
tell jack sw 2 1
tell jack sw 2 0
sleep 2
is "two quick edges of the input device move nothing" "$(logged "route:")" "$routes"
check "the loudspeaker is preferred again" btcall prefer speakerphone
check "route is the loudspeaker again" wait_route speakerphone 5
tell chip 3 0
check "line low: lifted, route is the earpiece" wait_route earpiece 5
tell chip 3 1
check "line high: hung up" wait_route speakerphone 5
check "the preference is removed" btcall prefer none
tell jack sw 2 1
check "headphones have the call" wait_route wiredHeadset 5
remove_device jack
check "the input device is removed: nothing is plugged in" wait_route earpiece 5
# The arm64 machine has no keyboard.
keyboard="AT Translated Set 2 keyboard, "
[ "$(uname -m)" = x86_64 ] || keyboard=
is "and the problem says so" "$(problem jack.wiredHeadset)" "wiredHeadset: the jack evdev:Lab Jack is not watched: there is no input device Lab Jack; there is ${keyboard}Lab Cradle"
kill $TEST_CALL
check "the second call has ended" wait_until 10 calls_are ""

# --- without automatic configuration no mixer is touched ------------------------------------------------------------------
mixer() { amixer -c 0 contents | awk '/^numid/ { kept = /Speaker/ } kept'; }     # the card's own controls change with each stream
for automatic in no yes; do
	restart_btcalld "$(config "playback = hw:Headset,0" "mixer = Speaker
volume = 90" "autoConfigure = $automatic")"
	lab-control hw:0 set "Speaker Playback Volume" 10 set "Speaker Playback Switch" 1
	before=$(mixer)
	note "amixer: $(tr -s ' \n' ' ' <<<"$before")"
	is "autoConfigure = $automatic: the mixer before the call" "$(grep -c 'values=10,10$' <<<"$before")" 1
	test_call --outgoing --number 1004 --far-end tone:700 --seconds 60
	check "autoConfigure = $automatic: the call is on the earpiece" wait_route earpiece 25
	check "autoConfigure = $automatic: muted and unmuted" eval "btcall mute on && btcall mute off"
	sleep 1
	during=$(mixer)
	kill $TEST_CALL
	check "autoConfigure = $automatic: the call has ended" wait_until 10 calls_are ""
	if [ $automatic = no ]; then
		is "S1.1 no: the mixer in the call" "$during" "$before"
		is "S1.1 no: the mixer after the call" "$(mixer)" "$before"
	else
		is "S1.1 yes: the same card is set" "$(grep -c 'values=45,45$' <<<"$during")" 1
	fi
done

# --- a USB headset, plugged in later: only its card shows that it exists -----------------------------------------------------
restart_btcalld "$(config "playback = hw:Headset,0
capture = hw:2,0
mixer = Audio Output Volume Control
volume = 50" "")"
is "no USB headset yet" "$(unavailable wiredHeadset)" "wiredHeadset: there is no ALSA device hw:Headset,0"
sleep 4
before=$(wakeups)
sleep 5
is "and nobody looks for it: wake-ups in five seconds" "$(($(wakeups) - before))" 0
modprobe xhci-pci
modprobe snd-usb-audio index=4 id=Headset
check "the USB headset is found" wait_until 15 is_available wiredHeadset
check "no problem is left" wait_until 3 eval "! has_problem device.wiredHeadset"
usb=$(grep -l "USB Audio" /sys/bus/usb/devices/*/product)
usb=${usb%/product}
echo 0 > "$usb/authorized"
check "pulled while nobody uses it" wait_until 5 is_away wiredHeadset
is "which is a problem" "$(problem device.wiredHeadset | cut -d';' -f1)" "wiredHeadset: there is no ALSA device hw:Headset,0"
echo 1 > "$usb/authorized"
check "plugged in again" wait_until 10 is_available wiredHeadset

test_call --outgoing --number 1003 --far-end tone:700 --seconds 60
check "route is the earpiece, the default" wait_route earpiece 25
check "the USB headset is chosen" btcall select wiredHeadset
check "route is the USB headset" wait_route wiredHeadset 5
level() { lab-control hw:Headset get "Audio Output Volume Control Playback Volume"; }
wanted=$(level)
note "50 % of the USB headset is $wanted of 255"
at_least "its mixer is set" "$wanted" 100
at_most "to the middle" "$wanted" 150
foreign=$(logged foreign-change)
sleep 1
is "again no change of btcalld's own counts as foreign" "$(logged foreign-change)" "$foreign"
lab-control hw:Headset set "Audio Output Volume Control Playback Volume" 3
check "an outside change of a real driver's control is undone" wait_until 3 eval '[ "$(level)" = "$wanted" ]'
is "once again" "$(logged foreign-change)" $((foreign + 1))
start=$EPOCHREALTIME
echo 0 > "$usb/authorized"
check "pulled in the call: route is the earpiece" wait_route earpiece 5
note "seen from outside $(since "$start") after the pull"
echo 1 > "$usb/authorized"
check "back in the call: the choice holds" wait_route wiredHeadset 10
kill $TEST_CALL
check "the third call has ended" wait_until 10 calls_are ""
stop_btcalld
finish

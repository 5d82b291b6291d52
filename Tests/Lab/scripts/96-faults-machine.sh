#!/bin/bash
# lab: limit=420 bonds="h1 h2" alone=1 long=1 qemu="-device qemu-xhci,id=xhci -audiodev wav,id=usb,path=@share@/usb.wav,out.frequency=48000"
# The fault matrix, the machine: one call with headset 1, and the sound cards as fallback, while the message bus, the state
# directory, the clock and the processor fail and a sound card is pulled; then the death of a call's application, and the
# death of the daemon with programs on the PCM.
. "$LAB/faults.sh"
. "$LAB/softphone.sh"

CARD=wiredHeadset
STATE=/var/lib/btcall
modprobe xhci-pci && modprobe snd-usb-audio index=4 id=Headset || fail "the kernel has the modules"
install_pcm || fail "the plug-in is installed"
mkdir -p $STATE
mount -t tmpfs -o size=256k state $STATE
{ fault_config; printf '[device %s]\nplayback = hw:Headset,0\n' $CARD; } > "$SHARE/btcalld.conf"
start_btcalld "$SHARE/btcalld.conf" || fail "btcalld starts"
pair_headsets
listen 0 earpiece
near_files=earpiece.wav
speak 0 /run/lab/near-in.wav
switch_on_known h1 $H1
begin_call_under_test machine
check "the call is with headset 1" wait_route bluetooth:$H1 15
sleep 3

# --- the bus --------------------------------------------------------------------------------------------------------------
has_bus() { busctl --system --timeout=2 call org.freedesktop.DBus / org.freedesktop.DBus GetId; }
begin_fault bus-restarted 600 600 40 "the D-Bus daemon is restarted; bluetoothd ends with it and is started again"
check "$fault: it is killed" kill -KILL "$(pidof dbus-daemon)"
sleep 1
dbus-daemon --system --nofork --nopidfile >>/run/lab/dbus.log 2>&1 &
check "$fault: it is back" wait_until 10 has_bus
wait_until 5 eval "! pidof bluetoothd"
check "$fault: bluetoothd is back" start_bluetoothd
check "$fault: btcalld is back" wait_until 15 owns_name org.btcall
check "$fault: so is the application, with its call" wait_until 15 said "test-call has come back to the bus with its calls"
hs h1 power off 2>/dev/null
repaired
check "$fault: headset 1 connects" switch_on h1
recovered 30 uses_headset
end_fault "the connection to the bus was lost"

# --- what is kept -----------------------------------------------------------------------------------------------------------
begin_fault state-read-only 40 40 5 "the state directory becomes read-only, and a preference is changed"
check "$fault: it is read-only" mount -o remount,ro $STATE
btcall default speakerphone >/dev/null
check "$fault: the call is where it was" wait_until 3 uses_headset
check "$fault: it can be written" mount -o remount,rw $STATE
repaired
check "$fault: a preference is changed" btcall default earpiece
recovered 5 said "no longer: preferences are not kept"
end_fault "preferences are not kept"

begin_fault state-full 40 40 5 "the file system of the state directory is full, and a preference is changed"
dd if=/dev/zero of=$STATE/ballast bs=4k 2>/dev/null
btcall default speakerphone >/dev/null
check "$fault: the call is where it was" wait_until 3 uses_headset
rm -f $STATE/ballast
repaired
check "$fault: a preference is changed" btcall default earpiece
recovered 5 said "no longer: preferences are not kept"
end_fault "preferences are not kept"

# --- time -------------------------------------------------------------------------------------------------------------------
begin_fault clock-moved 40 40 2 "the clock is set a day ahead, and two days back"
check "$fault: ahead" date -s @$(($(date +%s) + 86400))
sleep 2
check "$fault: back" date -s @$(($(date +%s) - 172800))
sleep 2
check "$fault: and right" date -s @$(($(date +%s) + 86400))
fault_since=$EPOCHREALTIME
recovered 2 uses_headset
end_fault -

begin_fault processor-busy 100 300 2 "eight programs want all of the processor for 6 s"
hogs=
for i in 1 2 3 4 5 6 7 8; do (while :; do :; done) & hogs="$hogs $!"; done
sleep 6
kill $hogs
wait $hogs 2>/dev/null
repaired
recovered 2 uses_headset
end_fault -

# --- a sound card -------------------------------------------------------------------------------------------------------------
hs h1 power off
check "the call is on the earpiece" wait_route earpiece 5
plug_in() { plugged=$(hs lab qemu device_add driver=usb-audio id=card bus=xhci.0 audiodev=usb | jq -e .end); }
pull_out() { # NUMBER: the card's playback goes to usb-card-NUMBER.wav; it ends when the card is removed
	local end samples name=$SHARE/usb-card-$1
	end=$(hs lab qemu device_del id=card | jq .begin)
	mv "$SHARE/usb.wav" "$name.wav"
	samples=$((($(stat -c %s "$name.wav") - 44) / 4))    # two channels of 16 bit
	awk -v n="$samples" -v end="$end" \
		'BEGIN { printf "# clock lab\n# mode steady\n0 %.6f\n%d %.6f\n", end - n / 48000, n, end }' > "$name.times"
	near_files="$near_files usb-card-$1.wav"
}
# It has no microphone, and the loudspeaker's, which is used with it, is silent.
check "the card is preferred" btcall prefer $CARD
check "the card is plugged in" plug_in
check "the call is with the card" wait_route $CARD 20
sleep 3
begin_fault card-pulled 300 x 10 "the USB sound card of the call is pulled out, and plugged in again after 3 s"
pull_out 1
check "$fault: the call is on the earpiece" wait_route earpiece 5
sleep 3
check "$fault: it is plugged in" plug_in
repaired
recovered 15 wait_route $CARD 1
end_fault "$CARD: the sound card: No such device"
sleep 1
pull_out 2
check "the call is on the earpiece again" wait_route earpiece 5
btcall prefer bluetooth >/dev/null
sleep 1

# --- the application ----------------------------------------------------------------------------------------------------------
begin_fault provider-killed - - 10 "the application that owns the call is killed; it restarts and calls again"
killed_call=$the_call
check "$fault: it is killed" kill -KILL $TEST_CALL
check "$fault: its call has ended" wait_until 5 eval '[ -z "$(current_call)" ]'
check "$fault: no path is left" wait_route none 3
repaired
begin_call_under_test again
recovered 15 wait_route earpiece 1
check "$fault: it is another call" eval '[ -n "$the_call" ] && [ "$the_call" != "$killed_call" ]'
end_fault "test-call left the bus: its calls end" "ends, providerGone"
end_call_under_test

# --- the daemon -----------------------------------------------------------------------------------------------------------------
# Unknown programs on the PCM: their audio is the call. They play the far end's audio, and record its ear.
arecord -q -D btcall:call -f S16_LE -r 16000 -c 1 "$WORK/pcm-heard.wav" 2>>"$SHARE/programs.log" & RECORDER=$!
aplay -q -D btcall:call "$SHARE/far.wav" 2>>"$SHARE/programs.log" & PLAYER=$!
is_implied() { has_call && [ "$(property "$the_call" Call1 Provider)" = pcm ]; }
check "daemon: there is a call, of the PCM" wait_until 15 is_implied
check "daemon: it is on the earpiece" wait_route earpiece 10
sleep 4
begin_fault daemon-killed - - 20 "btcalld is killed and started again; programs on the ALSA PCM live on"
kill -KILL "$BTCALLD"
wait "$BTCALLD" 2>/dev/null
repaired
check "$fault: btcalld is back" start_btcalld "$SHARE/btcalld.conf"
recovered 20 wait_route earpiece 1
check "$fault: the audio of the programs is a call again" wait_until 10 is_implied
sleep 3
check "$fault: the program that plays lives" kill -0 $PLAYER
check "$fault: the program that records lives" kill -0 $RECORDER
end_fault "programs play and record on btcall:call: that is call" "goes on, as another call"
ended=$(lab_time)
kill $RECORDER $PLAYER; wait $RECORDER $PLAYER 2>/dev/null
mv "$WORK/pcm-heard.wav" "$SHARE/"
samples=$((($(stat -c %s "$SHARE/pcm-heard.wav") - 44) / 2))
awk -v n="$samples" -v end="$ended" 'BEGIN { printf "# clock lab\n# mode steady\n0 %.6f\n%d %.6f\n", end - n / 16000, n, end }' > "$SHARE/pcm-heard.times"
far_files="$far_files pcm-heard.wav"

hang_up_cards
mv "$WORK"/far-* "$SHARE/" 2>/dev/null
# The killed application's recording has neither rate nor length in its header, and half a line at the end of its times.
for times in "$SHARE"/far-machine-*.times; do sed -i '$d' "$times"; done
python3 - "$SHARE/far-machine-heard.wav" <<-'PY'
import os, struct, sys
with open(sys.argv[1], "r+b") as f:
    size = os.fstat(f.fileno()).st_size // 2 * 2
    f.seek(4); f.write(struct.pack("<I", size - 8)); f.seek(24); f.write(struct.pack("<II", 16000, 32000)); f.seek(40); f.write(struct.pack("<I", size - 44))
PY
stop_btcalld
take_recordings
finish_faults
finish

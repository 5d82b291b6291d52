#!/bin/bash
# lab: limit=420 bonds="h1"
# btcall doctor with the real stack: no fault on a healthy guest; then one fault after the other is planted and detected.
. "$LAB/lib.sh"

# doctor [CHECK...]: its answer in $report, its exit status in $status.
doctor() { report=$(btcall doctor --json "$@" 2>>"$SHARE/doctor.log"); status=$?; echo "$report" >> "$SHARE/doctor.log"; }
# found WHAT CHECK SEVERITY TEXT: only that check reports it, with a remedy; the exit status is 1 for a fault.
found() {
	doctor "$2"
	check_json "$1" "$report" ".findings | any(.check == \"$2\" and .severity == \"$3\" and (.what | contains(\"$4\")) and .remedy != \"\" and .seen != \"\")"
	is "$1: exit status" "$status" "$([ "$3" = fault ] && echo 1 || echo 0)"
}
silent() { doctor "$2"; is "$1" "$(jq -c '[.findings[].what]' <<<"$report")" "[]"; }        # WHAT CHECK
adapter() { busctl --system --timeout=5 set-property org.bluez /org/bluez/hci0 org.bluez.Adapter1 "$1" b "$2"; }
headset() { busctl --system --timeout=5 set-property org.bluez "$(dev $H1)" org.bluez.Device1 "$1" b "$2"; }

# --- well ---------------------------------------------------------------------------------------------------------------
{ lab_config; printf '[bluetooth]\na2dp = yes\nprofileCheckSeconds = 0\n'; } > "$SHARE/btcalld.conf"
start_btcalld "$SHARE/btcalld.conf" || fail "btcalld starts"
bonded $H1 || fail "headset 1 is paired"
hs h1 power off; hs h1 mark
check "headset 1 connects" switch_on h1
check "btcalld has it" wait_until 10 connected $H1
doctor
is "a system that is well: exit status" "$status" 0
is "a system that is well: faults" "$(jq -c '[.findings[] | select(.severity == "fault") | .what]' <<<"$report")" "[]"
note "besides: $(jq -c '[.findings[] | .check + ": " + .what]' <<<"$report")"
note "outcomes: $(jq -r '[.checks[] | .outcome] | group_by(.) | map("\(length) \(.[0])") | join(", ")' <<<"$report")"
note "skipped: $(jq -c '[.checks[] | select(.outcome == "skipped") | .id + ": " + .reason]' <<<"$report")"
at_least "checks" "$(jq '.checks | length' <<<"$report")" 45
btcall doctor --report > "$SHARE/report.txt" 2>&1
check "the report names the kernel" grep -q "Linux $(uname -r)" "$SHARE/report.txt"
check "the report has the controller as the kernel describes it" grep -Eq '^adapter hci0: .*voice packets [1-9][0-9]*:[1-9]' "$SHARE/report.txt"
is "no address of a headset in it" "$(grep -c "${H1#*:*:*:}" "$SHARE/report.txt")" 0

# --- headsets -------------------------------------------------------------------------------------------------------------
headset Trusted false
found "not trusted" headset-untrusted warning "is paired and not trusted"
headset Trusted true
silent "trusted again" headset-untrusted
check "A2DP is up as well" wait_until 20 eval "[ \"\$(hs h1 status | jq -r .a2dp)\" != null ]"
check "its Hands-Free Profile is disconnected" busctl --system --timeout=10 call org.bluez "$(dev $H1)" org.bluez.Device1 DisconnectProfile s \
	0000111e-0000-1000-8000-00805f9b34fb
check "btcalld has lost it" wait_until 10 eval "! connected $H1"
if [ "$(prop $H1 Connected)" = "b true" ]; then
	found "half connected" headset-half-connected warning "connected without the profile for calls"
else
	not_ok "half connected (the radio link has ended as well)"
fi
command=$(jq -r '.findings[0].command' <<<"$report")
note "told to: $command"
check "the given command helps" eval "$command"
check "btcalld has it again" wait_until 15 connected $H1
silent "whole again" headset-half-connected

# --- another program disconnects the profile during a call: connected again twice, then left --------------------------------
take() {
	busctl --system --timeout=10 call org.bluez "$(dev $H1)" org.bluez.Device1 DisconnectProfile s 0000111e-0000-1000-8000-00805f9b34fb
}
again() { [ "$(grep -c 'foreign-change: .*disconnected by another program, connected again' "$SHARE/btcalld.log")" = "$1" ] && connected $H1; }
has_problem() { json '.problems[].id' status | grep -qx "$1"; }                  # ID
check "preferred device is set" btcall prefer bluetooth
check "default device is set" btcall default earpiece
test_call --outgoing --number 1001 --far-end tone:700 --seconds 150
check "a call is with headset 1" wait_route bluetooth:$H1 25
for time in 1 2; do
	check "its profile is disconnected during the call ($time)" take
	check "btcalld connects it again ($time)" wait_until 20 again $time
done
check "its profile is disconnected for the third time" take
check "S0.19 the third time it is left, which is a problem" wait_until 15 has_problem "profile.$H1.foreign"
check "and a line of why" eval "btcall why | grep -q 'another program disconnected its HFP 3 times'"
check "the call is on the earpiece" wait_route earpiece 10
check "Refresh" busctl --system call org.btcall /org/btcall/router org.btcall.Router1 Refresh
check "connects it again" wait_until 20 connected $H1
check "the problem is cleared" wait_until 5 eval "! has_problem profile.$H1.foreign"
check "the call is with headset 1 again" wait_route bluetooth:$H1 30
kill $TEST_CALL
check "the call has ended" wait_until 10 calls_are ""

# --- sound cards --------------------------------------------------------------------------------------------------------
for substream in 0 1; do
	aplay -q -D hw:1,0,$substream -f S16_LE -r 48000 -c 2 /dev/zero 2>>"$SHARE/aplay.log" &
	players="$players $!"
done
check "another program has the card" wait_until 10 eval '! grep -qx closed /proc/asound/card1/pcm0p/sub*/status'
found "card busy" sound-device-busy fault "aplay (process "
kill $players; wait $players
check "the card is closed" wait_until 10 eval 'grep -qx closed /proc/asound/card1/pcm0p/sub0/status'
silent "card free" sound-device-busy

# --- the adapter ----------------------------------------------------------------------------------------------------------
check "the adapter is switched off" adapter Powered false
found "adapter off" adapter-off fault "the adapter hci0 is off"
check "and on" wait_until 10 adapter Powered true
silent "adapter on" adapter-off
blocked=$(grep -lx bluetooth /sys/class/rfkill/*/type | head -1)
if [ -n "$blocked" ]; then
	echo 1 > "${blocked%/type}/soft"
	found "rfkill" adapter-blocked fault "is blocked by software"
	echo 0 > "${blocked%/type}/soft"
	silent "no rfkill" adapter-blocked
	wait_until 10 adapter Powered true
else
	not_ok "the guest's kernel has an rfkill switch for Bluetooth"
fi

# --- btcalld ----------------------------------------------------------------------------------------------------------------
mv /etc/dbus-1/system.d/org.btcall.conf "$WORK/"
found "policy removed" dbus-policy fault "the bus has no policy for org.btcall"
mv "$WORK/org.btcall.conf" /etc/dbus-1/system.d/
silent "policy back" dbus-policy
printf '[routing]\npreferred = sideways\n' >> "$SHARE/btcalld.conf"
found "configuration" configuration fault "has a mistake"
note "seen: $(jq -r '.findings[0].seen' <<<"$report")"
stop_btcalld
found "btcalld stopped" btcalld-missing fault "btcalld does not run"

# --- who has the profile ----------------------------------------------------------------------------------------------------
silent "nobody has the profile" profile-owner
bluealsa -p hfp-ag >>"$SHARE/bluealsa.log" 2>&1 &
BLUEALSA=$!
check "bluealsa is on the bus" wait_until 10 owns_name org.bluealsa
check "bluetoothd offers the profile" wait_until 10 eval "busctl --system get-property org.bluez /org/bluez/hci0 org.bluez.Adapter1 UUIDs | grep -q 0000111f"
found "bluealsa has the profile" profile-owner fault "bluealsa (process $BLUEALSA) has the Hands-Free Profile"
kill $BLUEALSA; wait $BLUEALSA

# --- bluetoothd -------------------------------------------------------------------------------------------------------------
check "bluetoothd is killed" kill_bluetoothd
found "bluetoothd stopped" bluetoothd-missing fault "bluetoothd does not run"
finish

#!/bin/bash
# lab: limit=420 bonds="h1 h2" alone=1 long=1
# The fault matrix, Bluetooth: one call with headset 1, and the earpiece as fallback, through all faults of bluetoothd, the
# adapter and headsets. The call is never ended; each fault's silence, log and recovery becomes a row of the documentation. A
# link that ends while its headset is connected is reopened for reopenBridgeMilliseconds (500 ms) before a local device takes
# over: that is the cost of a lost adapter.
. "$LAB/faults.sh"

fault_config > "$SHARE/btcalld.conf"
start_btcalld "$SHARE/btcalld.conf" || fail "btcalld starts"
pair_headsets
listen 0 earpiece
near_files=earpiece.wav
speak 0 /run/lab/near-in.wav
switch_on_known h1 $H1
begin_call_under_test bluetooth
check "the call is with headset 1" wait_route bluetooth:$H1 15
sleep 3

power() { busctl --system --timeout=10 set-property org.bluez /org/bluez/hci0 org.bluez.Adapter1 Powered b "$1"; }
has_adapter() { busctl --system --timeout=2 get-property org.bluez /org/bluez/hci0 org.bluez.Adapter1 Powered 2>/dev/null | grep -q "$1"; }
off_headset() { [ "$(route)" = earpiece ]; }
comes_back() { # the person switches headset 1 off and on
	hs h1 power off 2>/dev/null
	switch_on h1
}
with_headset() { uses_headset || { comes_back; wait_route bluetooth:$H1 15; }; }       # for the next fault

# --- bluetoothd -----------------------------------------------------------------------------------------------------------
begin_fault bluetoothd-killed 40 40 15 "bluetoothd is killed, and starts again after 3 s"
check "$fault: it is killed" kill_bluetoothd
sleep 3
check "$fault: the call is still with headset 1" uses_headset
check "$fault: it is back" start_bluetoothd
repaired
recovered 15 said "the Audio Gateway is registered with bluetoothd"
end_fault "bluetoothd is not on the bus"

begin_fault bluetoothd-stopped 40 40 15 "bluetoothd hangs (SIGSTOP) for 8 s"
check "$fault: it is stopped" kill -STOP "$(pidof bluetoothd)"
sleep 8
check "$fault: the call is still with headset 1" uses_headset
check "$fault: it goes on" kill -CONT "$(pidof bluetoothd)"
repaired
recovered 10 has_adapter true
end_fault -

# --- the adapter ------------------------------------------------------------------------------------------------------------
with_headset
begin_fault adapter-off 600 600 20 "the adapter is powered off for 3 s, then the headset is switched on again"
check "$fault: it is powered off" power false
check "$fault: the call is on the earpiece" wait_route earpiece 5
sleep 3
check "$fault: it is powered on" power true
hs h1 power off 2>/dev/null
repaired
check "$fault: headset 1 connects" switch_on h1
recovered 20 uses_headset
end_fault "the Bluetooth adapter is off"

with_headset
begin_fault adapter-reset 600 600 25 "the adapter is reset, as after a fault of its firmware"
check "$fault: it is reset" hciconfig hci0 reset
check "$fault: the call is on the earpiece" wait_route earpiece 5
hs h1 power off 2>/dev/null
check "$fault: the adapter works" wait_until 10 has_adapter true
repaired
check "$fault: headset 1 connects" switch_on h1
recovered 20 uses_headset
end_fault "$H1: .*(lost|ended|closed|disconnected|vanished)"

with_headset
begin_fault adapter-removed 900 900 25 "the adapter is pulled out, and plugged in again after 4 s"
check "$fault: it is pulled out" kill -USR1 "$(pidof vhci-bridge)"
check "$fault: the call is on the earpiece" wait_route earpiece 5
sleep 4
hs h1 power off 2>/dev/null
check "$fault: it is plugged in" kill -USR2 "$(pidof vhci-bridge)"
wait_until 10 has_adapter . && power true
repaired
check "$fault: headset 1 connects" switch_on h1
recovered 20 uses_headset
end_fault "there is no Bluetooth adapter"

# --- headsets ---------------------------------------------------------------------------------------------------------------
with_headset
begin_fault headset-silent 300 300 15 "the headset is out of reach for 1.5 s, and says nothing"
hs h1 fade 1.5 >/dev/null
repaired
recovered 15 uses_headset
end_fault "$H1: nothing received for"

with_headset
begin_fault headset-lost 300 300 25 "the headset's battery is empty; it is charged and switched on again"
hs h1 power lost 6 >/dev/null
check "$fault: the call is on the earpiece" wait_route earpiece 5
wait_until 15 gone $H1
repaired
check "$fault: headset 1 connects" switch_on h1
recovered 20 uses_headset
end_fault "$H1: nothing received for"

with_headset
begin_fault headset-flapping 300 300 40 "the headset is switched off and on three times in a row"
for i in 1 2 3; do
	check "$fault: off, time $i" hs h1 power off
	check "$fault: on, time $i" switch_on h1
done
repaired
recovered 40 uses_headset
end_fault "$H1: the radio link ended|$H1: .*(closed|ended)"

with_headset
begin_fault headset-flooding 300 300 25 "the headset sends 2,000 AT commands at once"
hs h1 mark
check "$fault: it floods" hs h1 flood 2000 AT+CIND?
check "$fault: it is sent away" wait_until 10 said "$H1: disconnected: it sent more commands"
hs h1 power off 2>/dev/null
repaired
check "$fault: headset 1 connects" switch_on h1
recovered 20 uses_headset
end_fault "$H1: disconnected: it sent more commands"

with_headset
begin_fault headset-refusing 300 300 25 "the headset comes and refuses its audio link, whatever the codec"
hs h1 power off
hs h1 refuse-links 20
check "$fault: headset 1 connects" switch_on h1
check "$fault: the log says so" wait_until 15 said "$H1: .*(refus|reject|link)"
sleep 3
check "$fault: the call is on the earpiece" route_is earpiece
hs h1 refuse-links 0
repaired
comes_back
recovered 20 uses_headset
end_fault "$H1: .*(refus|reject|does not open|no audio link)"

with_headset
begin_fault headset-hanging 40 40 30 "another headset connects and says nothing"
hs h2 power on
check "$fault: headset 2 connects" hs h2 connect-mute
repaired
recovered 30 said "$H2: disconnected: it did not finish its set-up"
check "$fault: the call is still with headset 1" uses_headset
hs h2 power off
end_fault "$H2: disconnected: it did not finish its set-up"

with_headset
begin_fault headsets-racing 300 300 15 "two headsets ask for the call's audio at once"
check "$fault: headset 2 connects" switch_on h2
check "$fault: headset 2 is available" wait_until 5 connected $H2
hs h1 audio-close 2>/dev/null
wait_route earpiece 5
HS_PORT=1 hs h2 audio-open >/dev/null 2>&1 & other=$!
hs h1 audio-open >/dev/null 2>&1
wait $other
repaired
one_headset() { [[ $(route) == bluetooth:* ]] && [ "$(hs h1 status | jq .sco) $(hs h2 status | jq .sco)" != "true true" ]; }
recovered 15 one_headset
end_fault -
hs h2 power off

sleep 1
end_call_under_test
hang_up_cards
mv "$WORK"/far-* "$SHARE/" 2>/dev/null
stop_btcalld
take_recordings
finish_faults
finish

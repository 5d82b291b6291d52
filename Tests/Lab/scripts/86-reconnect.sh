#!/bin/bash
# lab: limit=500 bonds="h1 h2"
# Headsets reconnect on their own after a power cut and after range loss, stay away when somebody disconnected them, and are
# never paged during a call. The daemon has no privilege; pages are counted where the kernel passes them to the controller.
. "$LAB/lib.sh"

# Intervals of one second instead of five to 300 (those are virtual in ReconnectManagerTests): due pages come soon.
lab_config | sed 's/^reconnect = no/reconnect = yes\nreconnectSeconds = 1\nreconnectMaxSeconds = 1/' > "$SHARE/reconnect.conf"

# bluetoothd itself pages headsets whose link timed out, even during calls: only btcalld's pages must be visible here.
sed -i 's/^\[Policy\]/[Policy]\nReconnectAttempts=0/' /etc/bluetooth/main.conf
check "bluetoothd is given its policy" eval 'kill_bluetoothd && start_bluetoothd'

stdbuf -oL btmon > "$WORK/btmon.log" 2>&1 &
BTMON=$!
pages() { grep -A 1 'HCI Command: Create Connection (0x01' "$WORK/btmon.log" | grep -c "Address: $1"; }   # [ADDRESS]
paged_since() { [ "$(pages "$2")" -gt "$1" ]; }                                  # NUMBER [ADDRESS]
# Headset 2 is off, and paged in turn with any other absent headset, least tried first: when it has been paged twice, another
# one would have been paged, too, unless it is left alone.
left_out() { # WHAT: headset 1 is not paged meanwhile
	local before others
	before=$(pages $H1) others=$(pages $H2)
	check "$1: headset 2 is paged twice" wait_until 40 paged_since $((others + 1)) $H2
	is "$1: pages of headset 1 meanwhile" "$(($(pages $H1) - before))" 0
}
seen() { # ADDRESS KEY: from the daemon's entry for a headset
	busctl --system --json=short get-property org.btcall /org/btcall/router org.btcall.Router1 Devices |
		jq -r --arg d "bluetooth:$1" --arg k "$2" '.data[] | select(.device.data == $d) | .[$k].data // ""'
}
standing() { seen "$1" reconnect; }
standing_is() { [ "$(standing $1)" = "$2" ]; }

start_btcalld "$SHARE/reconnect.conf" || fail "btcalld starts"

# 1. A power cut while headset 1 is connected: the board starts, with its bonds and the daemon's state.
if [ "$LAB_BOOT" = 1 ]; then
	bonded $H1 $H2 || fail "the headsets are paired"
	hs h2 power off
	check "headset 1 connects" switch_on h1
	check "headset 1 is available" wait_until 10 connected $H1
	hs h1 status | jq .events > "$SHARE/events"
	power_cut 4
fi
ready=$EPOCHREALTIME
check "headset 1 is back without a hand" wait_until 60 connected $H1
note "headset 1 is back $(since "$ready") after btcalld was ready"
check "its profile is up at the headset" eval 'hs h1 status | jq -e .hfp'
check_json "it had lost its connection" "$(hs h1 events "$(cat "$SHARE/events")")" 'map(.[1]) | index("acl-lost") != null'

# 2. Disconnected on purpose: not paged, even after a restart of the daemon; known again when it connects on its own.
check "headset 1 is disconnected by hand" busctl --system call org.bluez "$(dev $H1)" org.bluez.Device1 Disconnect
check "BlueZ says so" wait_until 10 gone $H1
left_out "disconnected by hand"
check "it is left alone" standing_is $H1 leftAlone
is "why it is not available" "$(seen $H1 unavailableBecause)" "disconnected on purpose"
stop_btcalld
check "btcalld starts" start_btcalld "$SHARE/reconnect.conf"
left_out "after a restart of the daemon"
check "it is left alone still" standing_is $H1 leftAlone
check "it connects on its own" switch_on h1
check "headset 1 is available" wait_until 10 connected $H1
is "it is known again" "$(standing $H1)" ""

# Switched off at the headset: the controller reports it, although bluetoothd does not. Not before bluetoothd's policy has
# requested A2DP, 2 s after HFP: it would page the headset for it.
sleep 6
hs h1 power off
check "BlueZ notices" wait_until 10 gone $H1
left_out "switched off"
check "it is waited for" standing_is $H1 leftAlone
check "it reconnects on its own" switch_on h1

# 3. Range loss during a call on another headset: no page during the call, the headset returns after it.
check "headset 2 connects" switch_on h2
check "preferred device is set" btcall prefer bluetooth:$H2
check "default device is set" btcall default earpiece
test_call --outgoing --number 1001 --far-end tone:700 --seconds 90
check "the call is with headset 2" wait_route bluetooth:$H2 25
before=$(pages)
hs h1 power lost >/dev/null
check "BlueZ notices that headset 1 is lost" wait_until 15 gone $H1
hs h2 sco-reset
sleep 8
is "pages in 8 s of the call, which are eight waits" "$(($(pages) - before))" 0
check "headset 1 waits" standing_is $H1 waiting
check "the call is with headset 2 still" route_is bluetooth:$H2
note "headset 2: $(hs h2 sco 700 6 | jq -c '{codec, rx_packets, hz, tone_share_mean, tone_share_min, gap_ms_max}')"
check "headset 2 ends the call" hs h2 hangup
check "the call has ended" wait_test_call 5
ended=$EPOCHREALTIME
check "headset 1 is paged after the call" wait_until 20 paged_since "$before"
note "paged $(since "$ended") after the call"

# A page in progress is cancelled when a call begins. bluetoothd 5.66 reports that, but the controller finishes it (5 s).
paged=$(pages $H1)
check "headset 1 is paged again" wait_until 40 paged_since "$paged" $H1
test_call --incoming --number 1002 --far-end tone:700 --seconds 60
check "the page is given up for the call" wait_until 15 grep -q "($H1): its page is given up" "$SHARE/btcalld.log"
paged=$(pages)
sleep 8
is "pages while it rings" "$(($(pages) - paged))" 0
hs h1 power on
kill $TEST_CALL
check "the call has ended" wait_test_call 10
ended=$EPOCHREALTIME
check "headset 1 is back after the call" wait_until 60 connected $H1
note "headset 1 is back $(since "$ended") after the call"
check "headset 2 was there all the time" connected $H2
is "problems" "$(btcall status --json | jq -c '[.problems[].id]')" '[]'

kill $BTMON 2>/dev/null
cp "$WORK/btmon.log" /var/lib/btcall/reconnect.conf "$SHARE/" 2>/dev/null
grep -E 'paged|back after|disconnected|left alone|waited for|given up' "$SHARE/btcalld.log" | sed 's/^/# /'
stop_btcalld
finish

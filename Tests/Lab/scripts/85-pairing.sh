#!/bin/bash
# lab: limit=420
# Pairing without a screen: no agent but the daemon's. Refused without a window and when not on the list; paired, trusted and
# connected by btcall pair; a call; forgotten; a headset that begins pairing itself.
. "$LAB/lib.sh"

adapter() { # visible state: pairable, discoverable
	local p
	for p in Pairable Discoverable Discovering; do
		busctl --system get-property org.bluez /org/bluez/hci0 org.bluez.Adapter1 $p
	done | tr '\n' ' '
}
adapter_is() { [ "$(adapter)" = "$1" ]; }
said() { grep -qF -- "pairing: $1" "$SHARE/btcalld.log"; }
state_is() { [ "$(property /org/btcall Pairing1 State)" = "$1" ]; }

start_btcalld || fail "btcalld starts"
check "preferred device is set" btcall prefer bluetooth
usual=$(adapter)
note "the adapter: $usual; bonds $(hs h1 status | jq -c .bonds)"
hs h1 power off; hs h2 power off; hs h1 power on; hs h2 power on

# --- without a window -----------------------------------------------------------------------------------------------------
is "there is no window" "$(property /org/btcall Pairing1 State)" closed
if hs h1 connect >"$WORK/refused" 2>&1; then not_ok "without a window h1 is refused"; else ok "without a window h1 is refused"; fi
note "$(tail -c 200 "$WORK/refused")"
check "it is not paired" eval '[ "$(prop $H1 Paired)" != "b true" ]'

# --- found from here ------------------------------------------------------------------------------------------------------
scan=$(btcall scan --seconds 10 --json)
note "scan: $(jq -c . <<<"$scan")"
check_json "both are found" "$scan" "map(.address) | contains([\"$H1\", \"$H2\"])"
check_json "h1 has its name" "$scan" "map(select(.address == \"$H1\"))[0].name == \"Lab h1\""
check "the search has ended" wait_until 5 adapter_is "$usual"

start=$EPOCHREALTIME
btcall pair --window 60 --allow $H1 >"$SHARE/pair.txt" 2>&1 &
pair=$!
# h1 was found before, so that it is paired at once.
check "the window is open, the adapter pairable and discoverable" wait_until 10 eval \
	'case "$(property /org/btcall Pairing1 State) $(adapter)" in open\ *"b true b true "*|pairing\ *"b true b true "*) true;; *) false;; esac'
if wait $pair; then ok "btcall pair: h1 is paired"; else not_ok "btcall pair: h1 is paired"; sed 's/^/# /' "$SHARE/pair.txt"; fi
note "paired and connected after $(since "$start"): $(tail -1 "$SHARE/pair.txt")"
is "h1 is paired" "$(prop $H1 Paired)" "b true"
is "h1 is trusted" "$(prop $H1 Trusted)" "b true"
is "h2 is not" "$(prop $H2 Paired)" "b false"
check "HFP of h1 is up" wait_until 15 connected $H1
check "the window is closed" state_is closed
check "the adapter is as it was" wait_until 5 adapter_is "$usual"
check "the log has it" said "window closed: paired Lab h1 ($H1)"

# --- a call -----------------------------------------------------------------------------------------------------------------
test_call --outgoing --number 1001 --far-end tone:1000 --seconds 60
check "the call goes to h1" wait_route bluetooth:$H1 20
check "its audio link opens" hs h1 wait sco 10
btcall pair --window 8 >"$WORK/incall" 2>&1 &
pair=$!
check "a window opens during the call" wait_until 5 state_is open
check "it says that it does not search" wait_until 5 grep -q "a call is up: btcalld does not search" "$WORK/incall"
is "it does not search" "$(property /org/btcall Pairing1 Searching)" "boolean false"
if btcall scan --seconds 5 >"$WORK/scan" 2>&1; then not_ok "no scan during a call"; else ok "no scan during a call"; fi
check "it says why" grep -q "would disturb the call" "$WORK/scan"
wait $pair
sleep 1; hs h1 sco-reset >/dev/null; sleep 3
heard=$(hs h1 sco 1000 2)
check_json "packets come" "$heard" '.rx_packets > 50'
at_least "the tone is heard (share of the energy)" "$(jq .tone_share_mean <<<"$heard")" 0.9
hs h1 hangup >/dev/null
check "the button ends it" wait_test_call 10

# --- one that is not on the list ---------------------------------------------------------------------------------------------
btcall pair --window 15 --allow $H1 --allow 'Jabra*' >"$SHARE/pair-other.txt" 2>&1 &
pair=$!
check "another window is open" wait_until 10 state_is open
# The kernel asks nobody when neither side has a display: the bond is removed as soon as bluetoothd signals it.
hs h2 connect >"$WORK/refused" 2>&1
note "$(tail -c 200 "$WORK/refused")"
check "the log says why" wait_until 5 said "Lab h2 ($H2) is paired and not on the list: its bond is removed"
check "h2 is off again" wait_until 5 eval '[ "$(hs h2 status | jq .acl)" = false ]'
if wait $pair; then not_ok "the window ends without a headset"; else ok "the window ends without a headset"; fi
check "it says so" grep -q "nothing was paired in time" "$SHARE/pair-other.txt"
check "h2 is not paired" eval '[ "$(prop $H2 Paired)" != "b true" ]'
hs h2 forget >/dev/null

# --- forgotten, and begun by the headset --------------------------------------------------------------------------------------
check "h1 is forgotten" btcall forget $H1
check "bluetoothd has no bond" wait_until 5 eval '[ "$(prop $H1 Paired)" != "b true" ]'
hs h1 forget >/dev/null
if hs h1 connect >"$WORK/refused" 2>&1; then not_ok "h1 is refused again"; else ok "h1 is refused again"; fi
# Either order: found from here, or begun by the headset.
btcall pair --window 40 --allow 'Lab h2' >"$SHARE/pair-begun.txt" 2>&1 &
pair=$!
wait_until 5 state_is open                              # unless h2 was found at once
hs h2 connect >"$WORK/begun" 2>&1; note "h2: $(tail -c 200 "$WORK/begun")"
if wait $pair; then ok "h2 is paired"; else not_ok "h2 is paired"; sed 's/^/# /' "$SHARE/pair-begun.txt"; fi
is "h2 is trusted" "$(prop $H2 Trusted)" "b true"
check "HFP of h2 is up" wait_until 20 connected $H2
grep -F "pairing: " "$SHARE/btcalld.log" | sed 's/^/# /'
stop_btcalld
finish

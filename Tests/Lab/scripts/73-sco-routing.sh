#!/bin/bash
# lab: limit=300 bonds="h1" headsets="--voice pcm"
# A Broadcom controller on a board with voice wired to its PCM pins: links open silently, and the log says why; with
# scoRouting = host btcalld switches it whenever it appears or was reset, and the call is heard.
. "$LAB/lib.sh"

helper=/usr/libexec/btcall-sco-routing
"$ROOT/scripts/build-sco-routing" $helper || fail "the helper is built"
voice() { hs lab voice | jq -r ".$1"; }
voice_is() { [ "$(voice "$1")" = "$2" ]; }
logged() { grep -c "$1" "$SHARE/btcalld.log"; }
logged_is() { [ "$(logged "$1")" = "$2" ]; }
changed='hci0: voice went to the PCM pins and goes to the host now'
already='hci0: voice goes to the host already'
heard() { # WHAT: a call with headset 1, whose far end is heard
	test_call --outgoing --number 1001 --far-end tone:700 --seconds 60
	check "$1: the call is with headset 1" wait_route bluetooth:$H1 15
	sleep 1; hs h1 sco-reset; sleep 2.5
	at_least "$1: the far end's tone is heard: share" "$(hs h1 sco 700 2 | jq .tone_share_mean)" 0.9
	hs h1 hangup >/dev/null
	check "$1: the call ends" wait_test_call 10
}

# Unchanged.
start_btcalld || fail "btcalld starts"
bonded $H1 || fail "headset 1 is paired"
btcall prefer bluetooth; btcall default earpiece
hs h1 power off; hs h1 mark
check "headset 1 connects" switch_on h1
test_call --outgoing --number 1001 --far-end tone:700 --seconds 60
check "the link comes up" hs h1 wait sco 20
check "the log reports the silence, the controller's maker, and what to do" wait_until 15 grep -q \
	"$H1: the audio link is up and nothing comes in.*hci0 is made by Broadcom.*PCM pins.*btcall config bluetooth.scoRouting host" "$SHARE/btcalld.log"
check "the call stays where it can be heard" wait_route earpiece 5
is "packets that reached the host" "$(hs lab air | jq .guest_sco_to_host)" 0
is "the link does not count as fallen silent" "$(logged 'nothing received for')" 0
is "the controller was not asked for anything" "$(voice reads) $(voice writes)" "0 0"
kill "$TEST_CALL"; wait "$TEST_CALL" 2>/dev/null
stop_btcalld

# Like btcall-sco-routing.socket and its service: a helper for each connection, with that one capability, for group btcall.
python3 -c "
import grp, os, socket, subprocess
s = socket.socket(socket.AF_UNIX)
s.bind('/run/btcall-sco-routing.sock')
os.chown('/run/btcall-sco-routing.sock', 0, grp.getgrnam('btcall').gr_gid)
os.chmod('/run/btcall-sco-routing.sock', 0o660)
s.listen()
while True:
    c, _ = s.accept()
    with c:
        subprocess.run(['setpriv', '--reuid=nobody', '--regid=nogroup', '--clear-groups', '--inh-caps=-all,+net_raw',
            '--ambient-caps=-all,+net_raw', '--bounding-set=-all,+net_raw', '--no-new-privs', '$helper', '--serve'], stdin=c, stdout=c)
" 2>>"$SHARE/sco-routing.log" & service=$!
wait_until 10 test -S /run/btcall-sco-routing.sock || fail "the helper's service runs"

# Switched when the daemon finds the adapter.
{ lab_config; printf '[bluetooth]\nscoRouting = host\n'; } > "$SHARE/host.conf"
start_btcalld "$SHARE/host.conf" || fail "btcalld starts with scoRouting = host"
check "the controller is switched" wait_until 10 voice_is routing host
is "with one change" "$(voice writes)" 1
check "the log says so" wait_until 5 logged_is "$changed" 1
hs h1 power off; hs h1 mark
check "headset 1 connects again" switch_on h1
heard "told"

# A second run changes nothing; also as an unprivileged user, without and with the service.
is "a second run" "$($helper hci0)" "$already"
is "changes after it" "$(voice writes)" 1
unprivileged() { setpriv --reuid=btcall --regid=btcall --clear-groups --inh-caps=-all --bounding-set=-all $helper hci0 2>&1; }
is "with the service" "$(unprivileged)" "$already"
mv /run/btcall-sco-routing.sock /run/away.sock
said=$(unprivileged); status=$?
note "$said"
is "without privilege: status" "$status" 1
check "without privilege: what to do" grep -q 'not permitted.*btcall-sco-routing.socket' <<<"$said"
mv /run/away.sock /run/btcall-sco-routing.sock

# A reset brings the wiring back.
resets=$(voice resets)
power() { busctl --system set-property org.bluez /org/bluez/hci0 org.bluez.Adapter1 Powered b "$1"; }
check "the adapter is switched off" power false
check "and on" wait_until 10 power true
check "the controller was reset" [ "$(voice resets)" -gt "$resets" ]
check "and is switched again" wait_until 10 voice_is writes 2
check "voice goes to the host" wait_until 5 voice_is routing host
hs h1 power off; hs h1 mark
check "headset 1 connects after the reset" switch_on h1
heard "after the reset"

# bluetoothd ends and restarts.
runs=$(logged "goes to the host")
check "bluetoothd is killed" kill_bluetoothd
check "bluetoothd is back" start_bluetoothd
check "the helper has run again" wait_until 10 eval '[ "$(logged "goes to the host")" -gt "$runs" ]'
is "voice goes to the host then" "$(voice routing)" host
note "controller: $(hs lab voice)"
is "no failure is logged" "$(logged 'voice routing is not set')" 0
stop_btcalld
kill $service
finish

#!/bin/bash
# lab: limit=240 bonds="h1"
# A call that is posted to btcall-web wakes what sleeps: systemd listens for btcall-web (systemd-socket-activate), and the bus
# starts btcalld by its .service file and launcher. Once with nothing running: the headset can only connect when btcalld serves
# its profile, so RING is judged from the headset's connection on, and the time from the post is a remark. Then three times with
# btcalld and the headset there and btcall-web asleep: RING is judged from the post on. Needs a release build of btcall-web.
. "$LAB/lib.sh"

served() { busctl --system --timeout=2 get-property org.bluez /org/bluez/hci0 org.bluez.Adapter1 UUIDs | grep -q 0000111f; }
event() { hs h1 events "$before" | jq -r --arg event "$1" 'map(select(.[1] == $event))[0][0] // empty'; }     # EVENT: its first time
seconds() { [ -n "$1" ] && [ -n "$2" ] && awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", b - a }'; }         # FROM TO
# As dbus/btcall-web.socket and .service: 127.0.0.1:8460, a user of its own in group btcall, no capability and none to gain.
systemd_listens() {
	setpriv --reuid btcall-web --regid btcall-web --groups btcall --inh-caps=-all --ambient-caps=-all --bounding-set=-all --no-new-privs \
		systemd-socket-activate --listen=127.0.0.1:8460 /usr/bin/btcall-web --foreground >>"$SHARE/btcall-web.log" 2>&1 &
	WEB=$!
	wait_until 10 grep -q '0100007F:210C 00000000:0000 0A' /proc/net/tcp
}
is_web() { [ "$(readlink "/proc/$WEB/exe")" = /usr/bin/btcall-web ]; }
# A call arrives. curl is started before and waits for the body: its own start is not part of the time that begins at $posted.
post() { # NUMBER
	rm -f "$WORK/body"
	mkfifo "$WORK/body"
	curl -sS --max-time 30 -o "$WORK/answer" -w '%{http_code} %{time_total}' -H "Authorization: Bearer $token" --json "@$WORK/body" \
		http://127.0.0.1:8460/v1/calls/incoming > "$WORK/curl" 2>>"$SHARE/curl.log" &
	CURL=$!
	exec 6>"$WORK/body"
	posted=$(lab_time)
	printf '{"number": "%s"}' "$1" >&6
	exec 6>&-
}
answered() { # WHAT NUMBER
	local status time
	wait "$CURL"
	read -r status time < "$WORK/curl"
	is "$1: btcall-web answers" "$status $(jq -r '"\(.number) \(.state)"' "$WORK/answer" 2>/dev/null)" "201 $2 ringing"
	note "$1: answered ${time} s after the post"
}
sleeps() { # WHAT: btcall-web ends and its call with it, and systemd listens again
	kill "$WEB"
	wait "$WEB"
	is "$1: btcall-web ends on SIGTERM" $? 0
	check "$1: its call has ended" wait_until 10 calls_are ""
	check "$1: systemd listens again" systemd_listens
}

# --- installed, and not started ---------------------------------------------------------------------------------------------
command -v curl systemd-socket-activate >/dev/null || fail "there are curl and systemd-socket-activate"
for program in btcalld btcall-web; do
	[ -x "$BTCALL_BIN/$program" ] || fail "there is $program in '$BTCALL_BIN': swift build -c release"
	install -m 755 "$BTCALL_BIN/$program" /usr/bin/
done
install -D -m 755 "$ROOT/packaging/btcall-launch" /usr/libexec/btcall-launch
install -D -m 644 "$ROOT/dbus/org.btcall.service" /usr/share/dbus-1/system-services/org.btcall.service
mkdir -p /etc/btcall
lab_config > /etc/btcall/btcalld.conf
prepare_board || fail "the board is prepared"
useradd -r -M -U -d /nonexistent -s /usr/sbin/nologin btcall-web
(umask 027; head -c 32 /dev/urandom | base64 > /etc/btcall/web.secret; chgrp btcall /etc/btcall/web.secret)
token=$(btcall web token --scope provider --for 10m) || fail "a token is made"
bonded $H1 || fail "headset 1 is paired"
hs h1 power on
check "systemd listens" systemd_listens
is "neither btcall-web nor btcalld runs" "$(pidof btcall-web btcalld), $(owner NameHasOwner)" ", false"

# --- with nothing running ---------------------------------------------------------------------------------------------------
before=$(hs h1 status | jq .events)
post 5550100
check "nothing running: btcalld serves headsets" wait_until 20 served
note "nothing running: served $(seconds "$posted" "$(lab_time)") s after the post"
check "nothing running: headset 1 connects" hs h1 connect
check "nothing running: its connection is up" wait_until 15 eval '[ -n "$(event slc)" ]'
check "nothing running: it rings" wait_until 15 eval '[ -n "$(event ring)" ]'
answered "nothing running" 5550100
at_most "nothing running: seconds from the headset's connection to RING" "$(seconds "$(event slc)" "$(event ring)")" 1
note "nothing running: RING $(seconds "$posted" "$(event ring)") s after the post"
check "systemd has started btcall-web" is_web
pid=$(owner GetConnectionUnixProcessID)
check "the bus has started btcalld as user btcall, without a capability" is_unprivileged "$pid"

# --- btcall-web asleep ------------------------------------------------------------------------------------------------------
for round in 1 2 3; do
	sleeps "asleep $round"
	check "asleep $round: btcall-web does not run" eval '! is_web'
	hs h1 mark
	post "555010$round"
	ring=$(hs h1 wait ring 15 | jq .t)
	answered "asleep $round" "555010$round"
	at_most "asleep $round: seconds from the post to RING" "$(seconds "$posted" "$ring")" 1
done
is "btcalld was not started again" "$(owner GetConnectionUnixProcessID)" "$pid"
check "headset 1 has the call" hs h1 answer
check "it is active" wait_until 10 calls_are active
kill "$WEB" "$pid"
finish

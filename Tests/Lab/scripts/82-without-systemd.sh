#!/bin/bash
# lab: limit=420 bonds="h1"
# A system without systemd: the Debian package's sysv script starts and stops btcalld, the message bus starts it on demand, both
# with the protection of the unit, and each carries a call with a headset; then the same on a read-only root. Needs
# scripts/package.
. "$LAB/lib.sh"

package=${BTCALL_DEB:-$(ls -t "$ROOT"/.build/btcall_*_"$(dpkg --print-architecture)".deb 2>/dev/null | head -1)}
[ -f "$package" ] || fail "there is a package: run scripts/package"
[ -d /run/systemd/system ] && fail "the guest has no systemd"
DEBIAN_FRONTEND=noninteractive dpkg --no-triggers --install "$package" > "$SHARE/dpkg.log" 2>&1 || { sed 's/^/# /' "$SHARE/dpkg.log"; fail "the package is installed"; }
start_udev /usr/lib/udev/rules.d/70-btcall.rules 2>>"$SHARE/udevd.log" || fail "udev runs with its rules"
lab_config > /etc/btcall/btcalld.conf
BTCALL_BIN=/usr/bin
bonded $H1 || fail "headset 1 is paired"
hs h1 mic tone 500 0.3

service() { /etc/init.d/btcalld "$@" 2>&1 | tee -a "$SHARE/sysv.log"; return "${PIPESTATUS[0]}"; }
daemon() { owner GetConnectionUnixProcessID; }
absent() { [ "$(owner NameHasOwner)" = false ]; }
# What the kernel says of a process, in a line.
protection() { # PID
	local names
	names=$(awk '/^Groups:/ { $1 = ""; print }' "/proc/$1/status" | xargs -n 1 getent group | cut -d : -f 1 | sort | paste -sd ' ')
	awk -v groups="$names" -v nice="$(awk '{ print $19 }' "/proc/$1/stat")" '
		/^(Uid|Gid):/ { id = id " " $2 "/" $3 "/" $4 } /^Cap(Inh|Prm|Eff|Bnd|Amb):/ { sub(/^0+/, "", $2); caps = caps " " ($2 == "" ? 0 : $2) }
		/^NoNewPrivs:/ { new = $2 } /^Umask:/ { umask = $2 }
		/^Max realtime priority/ { rt = $4 "/" $5 } /^Max locked memory/ { lock = $4 "/" $5 }
		END { print "ids" id ", groups " groups ", capabilities" caps ", no new privileges " new ", umask " umask ", nice " nice ", priority " rt ", memory " lock }
	' "/proc/$1/status" "/proc/$1/limits"
}
u=$(id -u btcall) g=$(id -g btcall)
wanted="ids $u/$u/$u $g/$g/$g, groups $(id -nG btcall | xargs -n 1 | sort | paste -sd ' '), capabilities 0 0 0 0 0, no new privileges 1, umask 0077, nice -10, priority 20/20, memory unlimited/unlimited"
call() { # WHAT: a call with headset 1
	check "$1: headset 1 is preferred" btcall prefer bluetooth
	check "$1: headset 1 connects" switch_on h1
	test_call --outgoing --number 1001 --far-end tone:700 --seconds 60
	check "$1: the call is with headset 1" wait_route bluetooth:$H1 20
	sleep 1; hs h1 sco-reset; sleep 2
	at_least "$1: the far end's tone is heard: share" "$(hs h1 sco 700 2 | jq .tone_share_mean)" 0.9
	is "$1: the audio thread has real-time priority" "$(statistics | jq .data.realtime.data)" true
	check "$1: the headset's button ends the call" hs h1 hangup
	check "$1: at the application, too" wait_test_call 10
	hs h1 power off
}

# --- the sysv script ------------------------------------------------------------------------------------------------------
is "it is started at each boot" "$(echo /etc/rc2.d/S*btcalld /etc/rc0.d/K*btcalld | wc -w) $(readlink /etc/rc2.d/S*btcalld)" "2 ../init.d/btcalld"
check "before: it says that btcalld does not run" eval 'service status >/dev/null; [ $? = 3 ]'
start=$EPOCHREALTIME
check "it starts btcalld" service start
note "started in $(since "$start")"
pid=$(daemon)
is "the kernel has its protection" "$(protection "$pid")" "$wanted"
is "it keeps the number of the process" "$(cat /run/btcalld.pid)" "$pid"
check "it says that btcalld runs" eval 'service status | grep -q "running, process $pid"'
check "a second start changes nothing" eval 'service start | grep -q "already running" && [ "$(daemon)" = "$pid" ]'
is "state, runtime directory and log are the daemon's" "$(stat -c '%U %a' /var/lib/btcall /run/btcall /var/log/btcalld.log | paste -sd ' ')" "btcall 750 btcall 755 btcall 640"
call "sysv"
check "it stops btcalld" service stop
check "and it is gone" eval 'absent && ! [ -d "/proc/$pid" ] && ! [ -e /run/btcalld.pid ]'

# --- the message bus ------------------------------------------------------------------------------------------------------
start=$EPOCHREALTIME
check "the first call on the bus starts btcalld" btcall status
note "answered after $(since "$start")"
pid=$(daemon)
is "the kernel has the same protection" "$(protection "$pid")" "$wanted"
is "no process of root's is left" "$(pgrep -c -f btcall-launch)" 0
check "the script does not start a second one" eval 'service start | grep -q "the message bus has started it" && [ "$(daemon)" = "$pid" ]'
check "and says who has started it" eval 'service status | grep -q "started by the message bus"'
call "bus"
check "the script restarts it" service restart
check "as its own" eval '[ "$(daemon)" != "$pid" ] && [ "$(daemon)" = "$(cat /run/btcalld.pid)" ]'
check "and stops it" service stop
sed 's/^/# /' /var/log/btcalld.log | grep -iE 'warn|error' | head -5

# --- without root, or without the user ------------------------------------------------------------------------------------
is "the launcher refuses another user" "$(setpriv --reuid nobody --regid nogroup --clear-groups /usr/libexec/btcall-launch 2>&1); $?" \
	"btcall-launch: btcalld is not started: this needs root, whose rights it gives up; run btcalld itself as another user; 4"

# --- a read-only root -----------------------------------------------------------------------------------------------------
export TMPDIR=$WORK
mount -t tmpfs -o mode=755 log /var/log
mount -t tmpfs -o mode=750,uid="$u",gid="$g" state /var/lib/btcall
sync
# By the new interface mount repeats overlay's options, which kernel 6.12 refuses.
export LIBMOUNT_FORCE_MOUNT2=always
check "the root is read-only" mount -o remount,ro /
check "nothing can be written there" eval '! touch /etc/btcall/x 2>/dev/null'
check "btcalld starts, with a data partition" service start
call "read-only root"
check "a setting is kept there" eval 'btcall config logLevel notice && service restart && btcall config logLevel | grep -q notice'
is "there is no problem with it" "$(json '[.problems[].id] | map(select(. == "state")) | length' status)" 0
check "btcalld is stopped" service stop
umount /var/lib/btcall
umount /var/log
check "without a data partition btcalld starts, and says where its log is" eval 'service start | grep -q "the log is /run/btcalld.log"'
is "it is protected in the same way" "$(protection "$(daemon)")" "$wanted"
call "nothing kept"
check "the problem is shown" eval 'btcall config logLevel notice >/dev/null; wait_until 5 eval "[ \"\$(json \"[.problems[].id] | map(select(. == \\\"state\\\")) | length\" status)\" = 1 ]"'
check "the doctor finds it" eval 'btcall doctor state-directory | grep -q "read-only file system"'
check "btcalld is stopped again" service stop
mount -o remount,rw /
finish

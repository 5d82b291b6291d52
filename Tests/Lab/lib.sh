# For scripts that run in the guest: counted checks, headsets, the daemon, recordings. Source it first:
#     . "$LAB/lib.sh"
# and end with "finish". Output is TAP: "ok N - what", "not ok N - what (got, wanted)", "# remark", "1..N".
. "$LAB/guest/bluetoothd.sh"

H1=00:1B:DC:08:00:11 H2=00:1B:DC:08:00:12
ROOT=$(readlink -f "$LAB/../..")
BTCALL_BIN=$(readlink -f "${BTCALL_BIN:-$ROOT/.build/release}")
BTCALL_DEBUG_BIN=$(readlink -f "${BTCALL_DEBUG_BIN:-$ROOT/.build/debug}")
SILENT_LIMIT_MS=160                                     # of lab_config: a dead headset's call is heard elsewhere 20 ms later
BTCALLD_BIN=$BTCALL_BIN                                 # directory of the daemon for start_btcalld
WORK=/run/lab/work                                     # recordings grow here, in memory: $SHARE is slow
mkdir -p "$WORK"
: "${LAB_PATIENCE:=3}"
LAB_WORK_MS=95 LAB_SLOW=1.4                             # duration of lab-speed where waits and limits were written, and how many times that
                                                        # is too slow for limits: also in analyse.py
checks=0 failures=0 finished=

# gojq starts eight times as fast as jq here.
jq() { gojq "$@"; }

# --- checks -------------------------------------------------------------------------------------------------------------
ok() { checks=$((checks + 1)); echo "ok $checks - $*"; }
not_ok() { checks=$((checks + 1)); failures=$((failures + 1)); echo "not ok $checks - $*"; }
note() { echo "# $*"; }
fail() { not_ok "$*"; finish; }                         # all later checks would be meaningless
check() { local what=$1; shift; if "$@" >/dev/null; then ok "$what"; else not_ok "$what ($*)"; fi; }         # WHAT COMMAND...
is() { if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1 (got '$2', wanted '$3')"; fi; }                     # WHAT GOT WANTED
_compare() { awk -v a="$1" -v b="$3" "BEGIN { exit !(a != \"\" && a != \"null\" && a + 0 $2 b + 0) }"; }
at_most() { if _compare "$2" "<=" "$3"; then ok "$1: $2"; else not_ok "$1 (got '$2', at most $3)"; fi; }     # WHAT GOT LIMIT
at_least() { if _compare "$2" ">=" "$3"; then ok "$1: $2"; else not_ok "$1 (got '$2', at least $3)"; fi; }
check_json() { # WHAT JSON FILTER: a jq filter that must say true
	if [ "$(jq -r "$3" <<<"$2" 2>/dev/null)" = true ]; then ok "$1"; else not_ok "$1 ($3: $(jq -c . <<<"$2" 2>/dev/null | cut -c 1-600))"; fi
}
golden() { # NAME COMMAND...: its output against golden/NAME; LAB_GOLDEN=1 only leaves what it got in $SHARE/golden
	mkdir -p "$SHARE/golden"
	"${@:2}" > "$SHARE/golden/$1"
	[ -n "$LAB_GOLDEN" ] && return
	if diff -u "$LAB/golden/$1" "$SHARE/golden/$1" > "$WORK/golden.diff" 2>&1; then ok "golden $1"; else not_ok "golden $1"; sed 's/^/# /' "$WORK/golden.diff"; fi
}
# Cuts the guest's power without warning, for SECONDS: nothing is shut down or written. Then the guest starts with bonds and
# the daemon's state as on the disk, and the script begins again, with LAB_BOOT increased by one.
power_cut() { # SECONDS
	mkdir -p "$SHARE/disk"
	rm -rf "$SHARE/disk/bluetooth" "$SHARE/disk/btcall"
	cp -a /var/lib/bluetooth /var/lib/btcall "$SHARE/disk/"
	echo "$checks $failures" > "$SHARE/disk/checks"
	echo "$LAB_BOOT" > "$SHARE/disk/boots"
	echo "$1" > "$SHARE/disk/again"
	note "the power is cut"
	finished=1
	echo b > /proc/sysrq-trigger
	sleep 60
}
[ -f "$SHARE/disk/checks" ] && read -r checks failures < "$SHARE/disk/checks"
measure_machine() { local i; for i in 1 2 3; do lab-speed >> "$SHARE/speed.log"; sleep 0.1; done; }    # analyse machine
# A guest slower than the machine for which waits were written waits proportionally longer. One that is too slow for limits
# also stands still for longer: there a headset is silent later, so that the pause of a healthy one does not
# move a call.
measure_patience() {
	# The first in percent.
	read -r patience SILENT_LIMIT_MS <<<"$(awk -v most="$LAB_PATIENCE" -v work="$LAB_WORK_MS" -v limit="$SILENT_LIMIT_MS" -v much="$LAB_SLOW" '
		{ sum += $1 } END { slow = NR ? sum / NR / work : 1
		printf "%.0f %.0f\n", 100 * most * (slow > 1 ? slow : 1), limit * (slow > much ? slow : 1) }' "$SHARE/speed.log")"
	hs lab patience "$patience" >/dev/null
}
finish() { finished=1; measure_machine; echo "1..$checks"; [ "$failures" = 0 ] && [ "$checks" -gt 0 ]; exit; }
measure_machine
measure_patience
_leave() { if [ -z "$finished" ]; then not_ok "the script came to its end (status $?)"; echo "1..$checks"; exit 1; fi; }
trap _leave EXIT

# --- waiting ------------------------------------------------------------------------------------------------------------
now() { printf '%s' "$EPOCHREALTIME"; }
since() { awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.2f s", b - a }'; }
lab_time() { hs lab time; }
# SECONDS of a wait suffice on the machine of README, Measured; slower machines wait $LAB_PATIENCE times as long, and stalled
# time of the lab does not count. The allowed duration is checked by at_most, with a measured time.
stood_still() { still=; read -r still < /run/lab/stalled; still=$((10#${still:-0})); } 2>/dev/null  # $still: milliseconds since the boot
# COMMAND sees these locals: none has a name that a script would use.
wait_until() { # SECONDS COMMAND...                      no program is started for it
	local _end=$((${EPOCHREALTIME/./} + $1 * patience * 10000)) still _still; shift
	stood_still; _still=$still
	until "$@" >/dev/null 2>&1; do
		stood_still
		[ "${EPOCHREALTIME/./}" -lt $((_end + 1000 * (still - _still))) ] || return 1
		sleep 0.1
	done
}

# --- Bluetooth ----------------------------------------------------------------------------------------------------------
dev() { echo "/org/bluez/hci0/dev_${1//:/_}"; }
prop() { busctl --system --timeout=2 get-property org.bluez "$(dev "$1")" org.bluez.Device1 "$2" 2>/dev/null; }
gone() { [ "$(prop "$1" Connected)" = "b false" ]; }                              # ADDRESS: according to BlueZ
agent() { # one that accepts everything, for as long as the script lives; also looks for headsets
	mkfifo "$WORK/bluetoothctl"
	exec 7<>"$WORK/bluetoothctl"
	bluetoothctl --agent NoInputNoOutput <"$WORK/bluetoothctl" >"$SHARE/bluetoothctl.log" 2>&1 &
	sleep 1
	printf 'default-agent\nscan bredr\n' >&7
}
pair() { # ADDRESS: discover, pair, trust
	local start=$EPOCHREALTIME
	wait_until 25 prop "$1" Address || { note "not discovered: $1"; return 1; }
	note "discovered $1 after $(since "$start")"
	printf 'scan off\n' >&7
	start=$EPOCHREALTIME
	busctl --system --timeout=30 call org.bluez "$(dev "$1")" org.bluez.Device1 Pair || return 1
	busctl --system set-property org.bluez "$(dev "$1")" org.bluez.Device1 Trusted b true || return 1
	note "paired $1 in $(since "$start")"
}
# A headset of the header's `bonds`: paired before the boot, known to bluetoothd.
bonded() { # ADDRESS...
	local address
	for address; do [ "$(prop "$address" Paired) $(prop "$address" Trusted)" = "b true b true" ] || return 1; done
}
scan() { printf 'scan bredr\n' >&7; }
connect() { busctl --system --timeout=30 call org.bluez "$(dev "$1")" org.bluez.Device1 Connect; }
switch_on() { # h1|h2: power, page the gateway, open HFP
	hs "$1" mark && hs "$1" power on && hs "$1" connect >/dev/null && hs "$1" wait slc 15 >/dev/null
}

# --- sound cards: the daemon has hw:CARD,0, the person at the device hw:CARD,1 ----------------------------------------
listen() { lab-pcm record "hw:$1,1" "$WORK/$2" ${3:-48000} ${4:-2} 2>>"$SHARE/lab-pcm.log" & listeners="$listeners $!"; }   # CARD NAME [RATE CHANNELS]
speak() { lab-pcm play "hw:$1,1" "$2" ${3:-48000} ${4:-2} 2>>"$SHARE/lab-pcm.log" & listeners="$listeners $!"; }           # CARD FILE.wav [RATE CHANNELS]
hang_up_cards() { # ends all listen and speak, recordings go to $SHARE
	local p
	for p in $listeners; do kill "$p" 2>/dev/null; done
	for p in $listeners; do wait "$p" 2>/dev/null; done
	listeners=
	mv "$WORK"/*.wav "$WORK"/*.times "$SHARE/" 2>/dev/null
}
analyse() { cp /run/lab/watch.log "$SHARE/"; HS_PORT=1 hs lab analyse "$@"; }   # ARGUMENTS of analyse.py; files in $SHARE

# --- the daemon -----------------------------------------------------------------------------------------------------------
btcall() { "$BTCALL_BIN/btcall" "$@"; }
btcall_lab() { "$BTCALL_BIN/btcall-lab" "$@"; }
json() { local filter=$1; shift; btcall "$@" --json | jq -r "$filter"; }        # FILTER VERB...
device_json() { btcall devices --json | jq -c --arg d "$1" 'map(select(.device == $d))[0]'; }      # DEVICE
# Straight from D-Bus, in a tenth of a second: a program as large as btcall takes several to start here.
property() { # PATH INTERFACE NAME: a string property of the daemon
	local answer
	answer=$(dbus-send --system --print-reply=literal --dest=org.btcall "$1" org.freedesktop.DBus.Properties.Get \
		"string:org.btcall.$2" "string:$3" 2>/dev/null) || return 1
	read -r _ answer <<<"$answer"
	echo "$answer"
}
route() { property /org/btcall/router Router1 ActiveRoute; }
route_is() { [ "$(route)" = "$1" ]; }
wait_route() { wait_until "$2" route_is "$1"; }                                  # DEVICE SECONDS
why() { # without values that differ from run to run: measured times and the silent limit are masked, other limits stay
	btcall why | sed -E 's/linkSilent after '"$SILENT_LIMIT_MS"' ms/linkSilent after LIMIT ms/
		s/[0-9.]+ m?s ago/some time ago/g; s/[0-9.]+ s of /SOME of /g; s/penalty [0-9]+ s/penalty SOME/g
		s/(carries the call|silent|eligible: stable) for [0-9.]+ s/\1 for SOME/g; s/^(next: .*) in [0-9.]+ s$/\1 in SOME/'
}
statistics() { busctl --system --json=short get-property org.btcall /org/btcall/audio org.btcall.Audio1 Statistics; }
own_losses() { statistics | jq .data.lost.data; }                                # total losses of the daemon itself
connected() { device_json bluetooth:$1 | jq -e .available >/dev/null; }          # ADDRESS
calls_are() { [ "$(json 'map(.state) | join(" ")' calls)" = "$1" ]; }            # "active held"
owns_name() { busctl --system --timeout=2 call org.freedesktop.DBus / org.freedesktop.DBus GetNameOwner s "$1"; }
# The bus's answer about btcalld's name, which does not start it: NameHasOwner, GetConnectionUnixProcessID.
owner() { # MEMBER
	dbus-send --system --print-reply=literal --dest=org.freedesktop.DBus / "org.freedesktop.DBus.$1" string:org.btcall 2>/dev/null | awk '{ print $NF }'
}
# A configuration for loopback cards: 0 is the earpiece, 1 the loudspeaker. No other audio, no automatic hold and no voice
# processing, so that recordings contain only the unprocessed call, and no other device is open. No headset is paged: scripts
# disconnect and reconnect them. The guest may stall for up to 75 ms, on a slow machine for longer, so that a healthy headset
# seems silent for 100: that must not move a call.
lab_config() {
	cat <<-EOF
	[audio]
	voiceProcessing = none
	[device earpiece]
	playback = hw:0,0
	capture = hw:0,0
	[device speakerphone]
	playback = hw:1,0
	capture = hw:1,0
	[ring]
	device = none
	tones = none
	[calls]
	holdInterrupted = no
	[bluetooth]
	reconnect = no
	[routing]
	silentLimitMilliseconds = $SILENT_LIMIT_MS
	EOF
}
# As in the unit (dbus/btcalld.service): user btcall in its groups, no capability and none to gain, real-time priority and
# locked memory by limits.
as_btcall=(prlimit --rtprio=20:20 --memlock=unlimited:unlimited setpriv --reuid btcall --regid btcall --init-groups
	--inh-caps=-all --ambient-caps=-all --bounding-set=-all --no-new-privs)
# udev with the installed rules, and with the templates filled in for the lab's devices.
start_udev() { # FILE
	mkdir -p /run/lab/rules
	cp /usr/lib/udev/rules.d/60-input-id.rules /run/lab/rules/
	sed -E '/^#SUBSYSTEM=="input"/ { s/^#//; s/NAME/Lab Cradle/ }; /^#SUBSYSTEM=="gpio"/ { s/^#//; s/PARENT/0003:10C4:EA90.*/ }' \
		"$1" > /run/lab/rules/70-btcall.rules
	mount --bind /run/lab/rules /usr/lib/udev/rules.d
	mount -t tmpfs t /etc/udev/rules.d 2>/dev/null
	/lib/systemd/systemd-udevd --daemon 2>>"$SHARE/udevd.log" || return 1
	udevadm trigger --action=add --subsystem-match=sound --subsystem-match=input --subsystem-match=gpio
	udevadm settle --timeout=20
}
# Installs the parts that scripts/install and the package give a board: the user, the bus's policy, udev.
prepare_board() {
	[ -S /run/udev/control ] && return
	getent group btcall >/dev/null || groupadd -r btcall
	getent passwd btcall >/dev/null || useradd -r -g btcall -d /nonexistent -s /usr/sbin/nologin btcall
	usermod -a -G audio btcall
	cp "$ROOT/dbus/org.btcall.conf" /etc/dbus-1/system.d/ 2>/dev/null
	install -D -m 644 -t /usr/share/btcall "$ROOT/etc/stack.conf" "$ROOT/etc/talk-keys.conf"
	busctl --system call org.freedesktop.DBus / org.freedesktop.DBus ReloadConfig
	start_udev "$ROOT/udev/70-btcall.rules"
}
# For user btcall: the unit's directories, and a place for files written because of $BTCALLD_ENV.
prepare_directories() {
	install -d -o btcall -g btcall -m 750 /var/lib/btcall
	install -d -o btcall -g btcall -m 755 /run/btcall
	chown -R btcall:btcall /var/lib/btcall
	chmod 1777 "$SHARE"
}
is_unprivileged() { [ "$(awk '/^Uid:/ { print $2, $3 } /^CapEff:/ { print $2 }' "/proc/$1/status" | xargs)" = "$(id -u btcall) $(id -u btcall) 0000000000000000" ]; }   # PID
start_btcalld() { # [CONFIG FILE]: $BTCALLD_ENV may hold NAME=VALUE words for its environment
	local config=${1:-$SHARE/btcalld.conf} start program=$BTCALLD_BIN/btcalld
	[ -x "$program" ] || { note "no btcalld in '$BTCALLD_BIN': swift build, swift build -c release"; return 1; }
	[ -n "$1" ] || lab_config > "$config"
	prepare_board || { note "the board is not prepared"; return 1; }
	prepare_directories
	# Below a home directory that only its owner can read.
	if ! "${as_btcall[@]}" test -x "$program"; then
		cp "$program" "$WORK/btcalld" && program=$WORK/btcalld
		chmod 755 /run/lab "$WORK" "$program"
	fi
	start=$EPOCHREALTIME
	(umask 077; exec "${as_btcall[@]}" env $BTCALLD_ENV "$program" --config "$config" --foreground) >>"$SHARE/btcalld.log" 2>&1 &
	BTCALLD=$!
	wait_until 20 owns_name org.btcall || { tail -20 "$SHARE/btcalld.log" | sed 's/^/# /'; return 1; }
	note "btcalld has its name after $(since "$start")"
	check "btcalld runs as user btcall, without a capability" is_unprivileged "$BTCALLD"
}
# Milliseconds from the start of btcalld until it tells systemd that it is ready. No other one may run, and this one ends.
ready_after() { # CONFIG FILE
	"${as_btcall[@]}" python3 -c '
import os, socket, subprocess, sys, time
path = "/run/btcall/ready"
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
    listener.bind(path)
    listener.settimeout(60)
    begin = time.monotonic()
    daemon = subprocess.Popen([sys.argv[1], "--config", sys.argv[2], "--foreground"], env={**os.environ, "NOTIFY_SOCKET": path}, stderr=subprocess.DEVNULL)
    try:
        while b"READY=1" not in listener.recv(4096):
            pass
        print(round(1000 * (time.monotonic() - begin)))
    finally:
        os.unlink(path)
        daemon.terminate()
        daemon.wait()
' "$BTCALLD_BIN/btcalld" "$1"
}
memory() { awk '/^(VmRSS|RssAnon):/ { printf "%s%s %.1f MB", comma, $1, $2 * 1.024 / 1000; comma = ", " }' "/proc/$1/status"; }    # PID
stop_btcalld() { kill "$BTCALLD" 2>/dev/null; wait "$BTCALLD" 2>/dev/null; }
test_call() { # ARGUMENTS of btcall test-call; progress in $SHARE/test-call.log. Urgent, as a telephony application is.
	nice -n -10 "$BTCALL_BIN/btcall" test-call "$@" >>"$SHARE/test-call.log" 2>&1 &
	TEST_CALL=$!
}
wait_test_call() { wait_until "${1:-10}" eval "! kill -0 $TEST_CALL"; }          # SECONDS: until the provider's call has ended

# --- load -----------------------------------------------------------------------------------------------------------------
ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }                           # CPU ticks (1/100 s) of a process
cpu() { # PID SECONDS: percent of the virtual CPU
	local a b
	a=$(ticks "$1"); sleep "$2"; b=$(ticks "$1")
	awk -v d=$((b - a)) -v s="$2" 'BEGIN { printf "%.1f\n", d / s }'
}

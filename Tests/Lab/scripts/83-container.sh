#!/bin/bash
# lab: limit=420 bonds="h1"
# btcalld in a container beside the machine's bluetoothd: the image of scripts/container, run by crun; its protection by /proc, a
# call with a headset; then the container without one thing after the other, which the doctor finds from inside. Needs
# scripts/container.
. "$LAB/lib.sh"

bundle=${BTCALL_CONTAINER:-$ROOT/.build/container}
[ -f "$bundle/config.json" ] || fail "there is an image: run scripts/container"
command -v crun >/dev/null || fail "there is crun"
bonded $H1 || fail "headset 1 is paired"
hs h1 mic tone 500 0.3
# Without systemd; crun wants control groups, which the guest has not mounted.
mount -t cgroup2 cgroup2 /sys/fs/cgroup
runc() { crun --root /run/crun --cgroup-manager=cgroupfs "$@"; }
inside() { runc exec btcall "$@" 2>&1; }
# A bundle beside the first one, whose config.json FILTER changes.
variant() { # FILTER
	mkdir -p "$WORK/variant"
	jq --arg rootfs "$bundle/rootfs" ".root.path = \$rootfs | $1" "$bundle/config.json" > "$WORK/variant/config.json"
}

# --- the machine ----------------------------------------------------------------------------------------------------------
is "before: user, name on the bus" "$(id -u btcall 2>/dev/null) $(owner NameHasOwner)" " false"
check "the machine is set up" eval '"$bundle/host-setup" > "$SHARE/host-setup.log" 2>&1'
check "again changes nothing" "$bundle/host-setup"
lab_config > /etc/btcall/btcalld.conf
start_udev /etc/udev/rules.d/70-btcall.rules 2>>"$SHARE/udevd.log" || fail "udev runs with its rules"

# --- the container --------------------------------------------------------------------------------------------------------
variant .
start=$EPOCHREALTIME
runc run --bundle "$WORK/variant" btcall > "$SHARE/btcalld.log" 2>&1 &
wait_until 30 owns_name org.btcall || { sed 's/^/# /' "$SHARE/btcalld.log"; fail "btcalld in the container has its name"; }
ok "btcalld in the container has its name"
note "after $(since "$start")"
pid=$(owner GetConnectionUnixProcessID)
is "it is the image's program" "$(cmp "/proc/$pid/exe" "$bundle/rootfs/usr/bin/btcalld" && echo same)" same
u=$(id -u btcall) g=$(id -g btcall) audio=$(getent group audio | cut -d : -f 3)
is "user, groups, capabilities, new privileges, umask" \
	"$(awk '/^(Uid|Gid):/ { printf "%s/%s ", $2, $3 } /^Groups:/ { printf "%s ", $2 } /^Cap(Inh|Prm|Eff|Bnd|Amb):/ { sub(/^0+/, "", $2); printf "%s ", $2 == "" ? 0 : $2 } /^(NoNewPrivs|Umask):/ { printf "%s ", $2 }' "/proc/$pid/status")" \
	"0077 $u/$u $g/$g $audio 0 0 0 0 0 1 "
is "limits" "$(awk '/^Max realtime priority/ { print $4 "/" $5 } /^Max locked memory/ { print $4 "/" $5 }' "/proc/$pid/limits" | paste -sd ' ')" "unlimited/unlimited 20/20"
check "its root is read-only" eval '! inside touch /usr/x >/dev/null'
is "it has the machine's network, and processes of its own" \
	"$([ "$(readlink "/proc/$pid/ns/net")" = "$(readlink /proc/self/ns/net)" ] && echo same) $([ "$(readlink "/proc/$pid/ns/pid")" = "$(readlink /proc/self/ns/pid)" ] || echo own)" "same own"
inside btcall doctor --all > "$SHARE/doctor.txt"
check "the doctor has nothing to say of the container" grep -qE '^container +ok' "$SHARE/doctor.txt"
is "and no fault" "$(grep -c '^fault' "$SHARE/doctor.txt")" 0

# --- a call ---------------------------------------------------------------------------------------------------------------
check "headset 1 is preferred, from inside" eval 'inside btcall prefer bluetooth >/dev/null'
check "headset 1 connects" switch_on h1
test_call --outgoing --number 1001 --far-end tone:700 --seconds 60
check "the call is with headset 1" wait_route bluetooth:$H1 20
sleep 1; hs h1 sco-reset; sleep 3
at_least "the far end's tone is heard: share" "$(hs h1 sco 700 2 | jq .tone_share_mean)" 0.9
is "the audio thread has real-time priority" "$(statistics | jq .data.realtime.data)" true
hs h1 power off
check "the headset is lost: the call goes to the earpiece" wait_route earpiece 15
kill "$TEST_CALL"; wait "$TEST_CALL" 2>/dev/null
check "the setting is kept on the machine" eval 'ls /var/lib/btcall | grep -q preferences'
check "the container is stopped" eval 'runc kill btcall TERM && wait_until 10 eval "! owns_name org.btcall"'
runc delete -f btcall 2>/dev/null

# --- without one thing after the other: the doctor alone, in a container of its own ------------------------------------------
finding() { # WHAT FILTER: the doctor says WHAT in a container that FILTER changes
	variant "$2 | .process.args = [\"/usr/bin/btcall\", \"doctor\", \"container\"]"
	runc run --bundle "$WORK/variant" doctor > "$WORK/doctor.txt" 2>&1
	cat "$WORK/doctor.txt" >> "$SHARE/doctors.txt"
	check "doctor: $1" grep -qF "$1" "$WORK/doctor.txt"
}
finding "nobody has org.btcall on the machine's bus" .
finding "no Bluetooth sockets" '.linux.namespaces += [{"type": "network"}]'
finding "the machine's message bus is not in the container" 'del(.mounts[] | select(.destination == "/run/dbus"))'
finding "the sound cards are not in the container" 'del(.mounts[] | select(.destination == "/dev/snd"))'
finding "may not open the sound cards" '.process.user.additionalGids = []'
finding "the kernel's list of sound cards is hidden" '.linux.maskedPaths += ["/proc/asound"]'
finding "real-time priority is not permitted" '.process.rlimits[0] = {"type": "RLIMIT_RTPRIO", "hard": 0, "soft": 0}'
finding "memory cannot be locked" '.process.rlimits[1] = {"type": "RLIMIT_MEMLOCK", "hard": 65536, "soft": 65536}'
finding "settings and call log end with the container" 'del(.mounts[] | select(.destination == "/var/lib/btcall"))'
finding "cannot use the ALSA PCM btcall" 'del(.mounts[] | select(.destination == "/run/btcall"))'
finding "may have capabilities" '.process.capabilities.bounding = ["CAP_SYS_NICE"]'

# The launcher, with the rights that it needs: root, which it gives up.
variant '.process.user = {"uid": 0, "gid": 0} | .process.args = ["/usr/libexec/btcall-launch"] | .process.rlimits = []
	| .process.capabilities |= map_values(["CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP", "CAP_CHOWN", "CAP_FOWNER", "CAP_DAC_OVERRIDE"])'
runc run --bundle "$WORK/variant" btcall > "$SHARE/launch.log" 2>&1 &
check "the launcher starts btcalld in it" wait_until 30 owns_name org.btcall
pid=$(owner GetConnectionUnixProcessID)
is "as its user, without a capability" "$(awk '/^Uid:/ { print $2 } /^Cap(Prm|Eff|Bnd):/ { sub(/^0+/, "", $2); print $2 == "" ? 0 : $2 }' "/proc/$pid/status" | paste -sd ' ')" "$u 0 0 0"
is "and says what is not permitted" "$(grep -c 'not permitted here\|cannot be locked here' "$SHARE/launch.log")" 3
runc kill btcall TERM
finish

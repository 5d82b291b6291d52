#!/bin/bash
# lab: limit=420
# The Debian package on a machine without btcall: after installation D-Bus starts btcalld as the package's user on demand, a
# headset is paired by `btcall pair`, a call runs; after a purge nothing is left. Needs scripts/package.
. "$LAB/lib.sh"

package=${BTCALL_DEB:-$(ls -t "$ROOT"/.build/btcall_*_"$(dpkg --print-architecture)".deb 2>/dev/null | head -1)}
[ -f "$package" ] || fail "there is a package: run scripts/package"
left() { # files of the package, and files made by it and the daemon
	local path
	for path in $files /etc/btcall /var/lib/btcall /run/btcall /etc/systemd/system/*btcall* /etc/systemd/system/*/*btcall*; do
		# Directories of other packages stay.
		if [ -d "$path" ] && [[ $path != *btcall* ]]; then continue; fi
		if [ -e "$path" ] || [ -L "$path" ]; then echo "$path"; fi
	done
}
is "before: user, name on the bus" "$(id -u btcall 2>/dev/null) $(owner NameHasOwner)" " false"

# As users install it, where the guest has a root of its own: what else this machine has may be none of apt's. Triggers belong to
# other packages: the index of all manual pages takes minutes here.
packages() { # install|purge PACKAGE
	local program=(dpkg --no-triggers "--$1")
	[ "$LAB_STACK" = debian12 ] || program=(apt-get -y -o Dpkg::Options::=--no-triggers -o APT::Sandbox::User=root "$1")
	DEBIAN_FRONTEND=noninteractive "${program[@]}" "$2" >> "$SHARE/dpkg.log" 2>&1
}
start=$EPOCHREALTIME
packages install "$package" || { sed 's/^/# /' "$SHARE/dpkg.log"; fail "it is installed"; }
ok "it is installed"
files=$(dpkg-query -L btcall)
at_least "its files" "$(left | wc -l)" 60
note "installed in $(since "$start")"
start_udev /usr/lib/udev/rules.d/70-btcall.rules 2>>"$SHARE/udevd.log" || fail "udev runs with its rules"
lab_config > /etc/btcall/btcalld.conf
BTCALL_BIN=/usr/bin BTCALLD_BIN=/usr/bin
times=
for i in 1 2 3 4 5; do times+=" $(ready_after /etc/btcall/btcalld.conf 2>>"$SHARE/ready.log")"; done
is "btcalld is ready each time" "$(wc -w <<<"$times")" 5
note "ready after (ms):$times"

start=$EPOCHREALTIME
check "btcall status starts btcalld" btcall status
note "answered after $(since "$start")"
BTCALLD=$(owner GetConnectionUnixProcessID)
check "btcalld runs as user btcall, without a capability" is_unprivileged "$BTCALLD"
is "it is the installed one" "$(readlink "/proc/$BTCALLD/exe")" /usr/bin/btcalld
check "its devices are available" wait_until 20 eval '[ "$(json "map(select(.available) | .device) | sort | join(\" \")" devices)" = "earpiece speakerphone" ]'

start=$EPOCHREALTIME
btcall pair --window 60 --allow $H1 > "$SHARE/pair.txt" 2>&1 || { sed 's/^/# /' "$SHARE/pair.txt"; fail "btcall pair: headset 1 is paired"; }
ok "btcall pair: headset 1 is paired"
note "paired and connected after $(since "$start")"
note "memory idle, with a headset: $(memory "$BTCALLD")"
check "the headset is preferred" btcall prefer bluetooth
check "the earpiece is the default" btcall default earpiece
hs h1 power off; hs h1 mic tone 500 0.3
test_call --outgoing --number 1001 --far-end tone:700 --seconds 120
check "the call is on the earpiece" wait_route earpiece 25
check "headset 1 connects" switch_on h1
check "the call is with headset 1" wait_route bluetooth:$H1 15
sleep 1; hs h1 sco-reset; sleep 3
note "memory in a call: $(memory "$BTCALLD")"
at_least "the far end's tone is heard: share" "$(hs h1 sco 700 2 | jq .tone_share_mean)" 0.9
check "the headset's button ends the call" hs h1 hangup
check "at the application, too" wait_test_call 10
is "btcalld was not started again" "$(owner GetConnectionUnixProcessID)" "$BTCALLD"

umount /usr/lib/udev/rules.d                            # start_udev's
packages purge btcall
is "it is purged" $? 0
check "btcalld has ended" eval '! [ -d "/proc/$BTCALLD" ]'
is "the user is gone" "$(id -u btcall 2>/dev/null)" ""
is "nothing of the package is left" "$(left)" ""
finish

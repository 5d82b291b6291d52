# For scripts with a desktop's PipeWire beside btcalld: . "$LAB/lib.sh" and . "$LAB/music.sh" first. PipeWire, its session
# manager and the session bus run as user "desk", a member of group btcall, as in somebody's session. Sourced by scripts/88-*.
DESK=/run/desk                                          # runtime directory and home

# The lines of docs/questions/PipeWire.md for this release of WirePlumber.
wireplumber_release() { wireplumber --version | sed -nE 's/^Compiled with libwireplumber ([0-9]+\.[0-9]+).*/\1/p'; }
wireplumber_line() { # backend|roles|none
	local page=$ROOT/docs/questions/PipeWire.md
	case $(wireplumber_release)-$1 in
	0.4-backend) grep -m1 '^bluez_monitor.properties\["bluez5.hfphsp-backend"\]' "$page";;
	0.4-roles) grep -m1 '^bluez_monitor.properties\["bluez5.headset-roles"\]' "$page";;
	0.4-none) grep -m1 '^bluez_monitor.enabled' "$page";;
	*-backend) grep -m1 '^monitor.bluez.properties = { bluez5.hfphsp-backend' "$page";;
	*-roles) grep -m1 '^monitor.bluez.properties = { bluez5.roles' "$page";;
	*-none) grep -m1 '^wireplumber.profiles.*monitor.bluez' "$page";;
	esac
}
# Nobody sits at the guest: without this WirePlumber leaves Bluetooth to the user at the seat.
without_seat() {
	if [ "$(wireplumber_release)" = 0.4 ]; then
		mkdir -p /etc/wireplumber/bluetooth.lua.d
		echo 'bluez_monitor.properties["with-logind"] = false' > /etc/wireplumber/bluetooth.lua.d/60-lab.lua
	else
		mkdir -p /etc/wireplumber/wireplumber.conf.d
		echo 'wireplumber.profiles = { main = { monitor.bluez.seat-monitoring = disabled } }' > /etc/wireplumber/wireplumber.conf.d/60-lab.conf
	fi
}
remedy() { # [backend|roles|none]: the file that the page names, or none
	rm -f /etc/wireplumber/wireplumber.conf.d/51-btcall.conf /etc/wireplumber/bluetooth.lua.d/51-btcall.lua
	[ -n "$1" ] || return 0
	local file=/etc/wireplumber/wireplumber.conf.d/51-btcall.conf
	[ "$(wireplumber_release)" = 0.4 ] && file=/etc/wireplumber/bluetooth.lua.d/51-btcall.lua
	mkdir -p "${file%/*}"
	wireplumber_line "$1" > "$file" && [ -s "$file" ] && note "$file: $(cat "$file")"
}

# "${as_desk[@]}" COMMAND...: in the session. Not a function: $! is the program then.
as_desk=(setpriv --reuid desk --regid desk --init-groups env -u BTCALL_BUS HOME=$DESK XDG_RUNTIME_DIR=$DESK
	DBUS_SESSION_BUS_ADDRESS=unix:path=$DESK/bus)
start_session() {
	getent group btcall >/dev/null || groupadd -r btcall
	getent passwd desk >/dev/null || useradd -m -d $DESK -G btcall,audio desk
	install -d -o desk -g desk -m 700 $DESK
	chmod 755 /run/lab
	"${as_desk[@]}" dbus-daemon --session --nofork --nopidfile --address=unix:path=$DESK/bus >>"$SHARE/session-bus.log" 2>&1 &
	wait_until 10 test -S $DESK/bus
}
start_pipewire() {
	without_seat
	"${as_desk[@]}" pipewire >>"$SHARE/pipewire.log" 2>&1 &
	PIPEWIRE=$!
	wait_until 20 test -S $DESK/pipewire-0 || return 1
	"${as_desk[@]}" wireplumber >>"$SHARE/wireplumber.log" 2>&1 &
	WIREPLUMBER=$!
	wait_until 30 session_manager_is_there && sleep 3
}
session_manager_is_there() { "${as_desk[@]}" timeout 10 wpctl status | grep -q WirePlumber; }
restart_wireplumber() {
	kill "$WIREPLUMBER"; wait "$WIREPLUMBER" 2>/dev/null
	"${as_desk[@]}" wireplumber >>"$SHARE/wireplumber.log" 2>&1 &
	WIREPLUMBER=$!
	wait_until 30 session_manager_is_there && sleep 3
}
stop_pipewire() {
	kill "$WIREPLUMBER" 2>/dev/null; wait "$WIREPLUMBER" 2>/dev/null
	kill "$PIPEWIRE" 2>/dev/null; wait "$PIPEWIRE" 2>/dev/null
	rm -f $DESK/pipewire-0*
	rm -rf $DESK/.local/state/wireplumber
}
# The node that plays to the headset, if PipeWire has its A2DP.
pipewire_node() { "${as_desk[@]}" timeout 10 pw-cli ls Node 2>/dev/null | sed -n 's/.*node.name = "\(bluez_output[^"]*\)".*/\1/p' | head -1; }
pipewire_has_music() { [ -n "$(pipewire_node)" ]; }

# In the guest: starts and kills bluetoothd. /var/lib/bluetooth survives.

# The host's own program and configuration; returns when the adapter is powered.
start_bluetoothd() {
	local i daemon=/usr/libexec/bluetooth/bluetoothd
	if [ -n "$LAB_GDB" ]; then                          # backtrace of a crash to $SHARE/gdb.log
		gdb -batch -ex "handle SIGPIPE nostop noprint pass" -ex run -ex bt -ex "x/6i \$pc" -ex "info registers" \
			--args $daemon -n $LAB_BLUETOOTHD_OPTIONS >>"$SHARE/gdb.log" 2>&1 &
	else
		$daemon -n $LAB_BLUETOOTHD_OPTIONS >>"$SHARE/bluetoothd.log" 2>&1 &
	fi
	for i in $(seq 100); do
		busctl --system --timeout=2 set-property org.bluez /org/bluez/hci0 org.bluez.Adapter1 Powered b true 2>/dev/null && return 0
		sleep 0.1
	done
	return 1
}

# Sends SIGKILL, and returns when it has ended.
kill_bluetoothd() {
	local i pid
	pid=$(pidof bluetoothd) || return 1
	kill -KILL $pid
	for i in $(seq 50); do pidof bluetoothd >/dev/null || return 0; sleep 0.05; done
	return 1
}

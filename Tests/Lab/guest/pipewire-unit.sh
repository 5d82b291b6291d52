# In the unit: PipeWire and WirePlumber as its hands-free unit. For its shell: . "$LAB/guest/pipewire-unit.sh"
# Its speaker and its microphone are pipes, in the place of sound cards: WirePlumber links the call with them.
export HOME=/run/lab/session XDG_RUNTIME_DIR=/run/lab/session
export DBUS_SESSION_BUS_ADDRESS=unix:path=$XDG_RUNTIME_DIR/bus
AG=0000111f-0000-1000-8000-00805f9b34fb

start_session() {
	mkdir -p $XDG_RUNTIME_DIR /etc/pipewire/{pipewire,client}.conf.d /etc/wireplumber/wireplumber.conf.d
	chmod 700 $XDG_RUNTIME_DIR
	# The emulator is slow with floating point and with wake-ups: the rate of the better codec instead of 48 kHz, few and large
	# periods, and the quickest resampler.
	echo 'context.properties = { default.clock.rate = 16000, default.clock.quantum = 512, default.clock.min-quantum = 512 }' \
		> /etc/pipewire/pipewire.conf.d/50-unit.conf
	cat > /etc/pipewire/pipewire.conf.d/51-speaker.conf <<-END
		context.modules = [ { name = libpipewire-module-pipe-tunnel, args = {
			tunnel.mode = sink, pipe.filename = $XDG_RUNTIME_DIR/speaker
			audio.format = S16LE, audio.rate = 16000, audio.channels = 1, audio.position = [ MONO ]
			stream.props = { media.class = Audio/Sink, node.name = unit-speaker, priority.session = 1000, resample.quality = 0 }
		} } ]
	END
	echo 'stream.properties = { resample.quality = 0 }' > /etc/pipewire/client.conf.d/50-unit.conf
	dbus-daemon --session --nofork --nopidfile --address=$DBUS_SESSION_BUS_ADDRESS >>"$SHARE/session-bus.log" 2>&1 &
	nice -n -10 pipewire >>/run/lab/pipewire.log 2>&1 &
}
start_wireplumber() { # WORDS of monitor.bluez.properties
	cat > /etc/wireplumber/wireplumber.conf.d/50-unit.conf <<-END
		monitor.bluez.properties = { bluez5.roles = [ hfp_hf ], bluez5.hfphsp-backend = native, $* }
		monitor.bluez.rules = [ { matches = [ { node.name = "~bluez_.*" } ], actions = { update-props = { resample.quality = 0 } } } ]
		wireplumber.profiles = { main = {
			monitor.bluez.seat-monitoring = disabled, monitor.alsa = disabled, monitor.v4l2 = disabled, monitor.libcamera = disabled
			hardware.video-capture = disabled, monitor.bluez-midi = disabled
		} }
	END
	WIREPLUMBER_DEBUG=2,spa.bluez5.native:${native_level:-2} nice -n -10 wireplumber >>/run/lab/wireplumber.log 2>&1 &
	wireplumber=$!
}
stop_wireplumber() { kill $wireplumber; wait $wireplumber 2>/dev/null; }
connect_gateway() { busctl --system --timeout=30 call org.bluez $gateway_object org.bluez.Device1 ConnectProfile s $AG; }

# --- calls: org.pipewire.Telephony ----------------------------------------------------------------------------------------
objects() { busctl --user --timeout=5 call org.pipewire.Telephony "$1" org.freedesktop.DBus.ObjectManager GetManagedObjects; }   # PATH
has_telephony() { objects /org/pipewire/Telephony; }
the_gateway() { has_telephony | grep -oE -m 1 '/org/pipewire/Telephony/ag[0-9]+' | head -1; }
calls() { objects "$(the_gateway)"; }
the_call() { calls | grep -oE '/org/pipewire/Telephony/ag[0-9]+/call[0-9]+' | head -1; }
call_is() { calls | grep -F "\"State\" s \"$1\"" | grep -F "\"LineIdentification\" s \"$2"; }                     # STATE [NUMBER]
no_call() { [ -n "$(the_gateway)" ] && [ -z "$(the_call)" ]; }
with_call() { busctl --user --timeout=10 call org.pipewire.Telephony "$(the_call)" org.pipewire.Telephony.Call1 "$1"; }   # Answer|Hangup
dial() { busctl --user --timeout=10 call org.pipewire.Telephony "$(the_gateway)" org.pipewire.Telephony.AudioGateway1 Dial s "$1"; }

# Lets WirePlumber link two streams with speaker and microphone. What the emulator runs for the first time is slow, and the
# gateway gives a headset one second for the first packet: PipeWire 1.4.2 needs 1.1 s then, and dies of a link that is closed
# meanwhile (loop_update_source).
practise() {
	listen_pipewire practice; speak_pipewire "$SHARE/mic-16000.wav"
	sleep 1
	timeout 3 pw-cat --record $cat_options - >/dev/null 2>&1 &
	timeout 3 pw-cat --playback $cat_options - </dev/zero >/dev/null 2>&1
	wait $!
	quiet
}

# --- sound ------------------------------------------------------------------------------------------------------------------
cat_options="--raw --format s16 --rate 16000 --channels 1 --latency 40ms"
listen_pipewire() { # NAME: what this side hears
	lab-pcm record - "/run/lab/work/$1" 16000 1 <$XDG_RUNTIME_DIR/speaker 2>>"$SHARE/lab-pcm.log" &
	listening=$!
}
speak_pipewire() { # FILE.wav: what it says, over and over
	while tail -c +45 "$1"; do :; done 2>/dev/null |
		chrt -f 40 pw-cat --playback $cat_options -P '{ media.class = Audio/Source, node.name = unit-microphone, priority.session = 2000 }' - 2>>"$SHARE/pw-cat.log" &
	speaking=$!
}

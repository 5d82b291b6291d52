# For scripts with softphones: . "$LAB/lib.sh" first. Two of Debian's baresip call each other over loopback; the board's uses
# the ALSA PCM btcall and is followed by btcall-baresip where start_follower starts it, the far one sends a 1 kHz tone and
# records. Sourced by scripts/8*.
BOARD=sip:board@127.0.0.1:5060 FAR=sip:+4930123@127.0.0.1:5070
BOARD_CONTROL=4444 FAR_CONTROL=4445

install_pcm() { "$ROOT/scripts/build-pcm-plugin" install "$LAB_BIN/pcm-plugin"; } # into the guest; setup has built it

softphone_config() { # SIP-PORT CONTROL-PORT SOURCE PLAYER ALERT MODULES...: what both have in common
	cat <<-EOF
	poll_method epoll
	sip_listen 127.0.0.1:$1
	net_interface 127.0.0.1
	rtp_ports $((20000 + 1000 * ($1 % 10 + $1 / 10 % 10)))-$((20998 + 1000 * ($1 % 10 + $1 / 10 % 10)))
	audio_source $3
	$4
	$5
	call_max_calls 4
	ring_aufile none
	ringback_disabled yes
	module_path /usr/lib/baresip/modules
	module g711.so
	module_app account.so
	module_app contact.so
	module_app menu.so
	module_app ctrl_tcp.so
	ctrl_tcp_listen 127.0.0.1:$2
	EOF
	shift 5
	printf 'module %s.so\n' "$@"
}

board_softphone() { # [answermode=auto]: uses only the PCM of btcall; numbers are dialled through the far end
	mkdir -p "$WORK/board"
	softphone_config 5060 $BOARD_CONTROL "alsa,btcall:call" "audio_player alsa,btcall:call" "audio_alert alsa,btcall:ring" alsa \
		> "$WORK/board/config"
	echo "\"Board\" <$BOARD>;regint=0;outbound=\"sip:${FAR#*@};lr\"${1:+;$1}" > "$WORK/board/accounts"
	: > "$WORK/board/contacts"
	nice -n -10 baresip -f "$WORK/board" </dev/null >>"$SHARE/baresip-board.log" 2>&1 &
	BOARD_PHONE=$!
}

# btcall-baresip as in its unit (dbus/btcall-baresip.service): its own user, in group btcall, without capabilities. It
# follows the board's baresip. $FOLLOWER_KEYS: further lines of its configuration.
start_follower() {
	local program=$BTCALL_BIN/btcall-baresip
	[ -x "$program" ] || { note "no btcall-baresip in '$BTCALL_BIN': swift build -c release"; return 1; }
	getent passwd btcall-baresip >/dev/null || useradd -r -M -d /nonexistent -s /usr/sbin/nologin btcall-baresip
	# The program may be below a home directory that only its owner can read.
	cp "$program" "$WORK/btcall-baresip" && cat "$ROOT/etc/baresip.conf" - > "$WORK/baresip.conf" <<<"$FOLLOWER_KEYS" || return 1
	chmod 755 /run/lab "$WORK" "$WORK/btcall-baresip"
	chmod 644 "$WORK/baresip.conf"
	setpriv --reuid btcall-baresip --regid btcall-baresip --groups btcall --inh-caps=-all --ambient-caps=-all --bounding-set=-all \
		--no-new-privs "$WORK/btcall-baresip" --config "$WORK/baresip.conf" --control 127.0.0.1:$BOARD_CONTROL --foreground \
		>>"$SHARE/btcall-baresip.log" 2>&1 &
	FOLLOWER=$!
}
stop_follower() { kill "$FOLLOWER" 2>/dev/null; wait "$FOLLOWER" 2>/dev/null; }

far_softphone() { # $FAR_MODULES and $FAR_CONFIG: further modules, and lines of its configuration
	mkdir -p "$WORK/far"
	# ausine supports 48 kHz with two channels only.
	{
		softphone_config 5070 $FAR_CONTROL "ausine,1000" "" "" ausine sndfile $FAR_MODULES
		printf 'ausrc_srate 48000\nausrc_channels 2\nsnd_path %s\n%s\n' "$WORK/far" "$FAR_CONFIG"
	} > "$WORK/far/config"
	echo "\"Ann\" <$FAR>;regint=0" > "$WORK/far/accounts"
	: > "$WORK/far/contacts"
	nice -n -10 baresip -f "$WORK/far" </dev/null >>"$SHARE/baresip-far.log" 2>&1 &
	FAR_PHONE=$!
	wait_until 10 eval "(exec 3<>/dev/tcp/127.0.0.1/$FAR_CONTROL)" || return 1
	sleep 0.5
	exec 8<>/dev/tcp/127.0.0.1/$FAR_CONTROL
	cat <&8 >>"$SHARE/far-events.log" &
	FAR_EVENTS=$!
}

far() { # COMMAND [PARAMETERS]: as somebody at the far end's console
	local text="{\"command\":\"$1\"${2:+,\"params\":\"$2\"}}"
	printf '%d:%s,' ${#text} "$text" >&8
}
far_mark() { far_seen=$(stat -c %s "$SHARE/far-events.log"); }
far_said() { tail -c +$((far_seen + 1)) "$SHARE/far-events.log" | grep -qE "$1"; }
far_wait() { wait_until "$2" far_said "$1"; }                                    # PATTERN SECONDS, since the mark
far_event() { echo "\"type\":\"$1\"[^}]*${2:+\"param\":\"$2\"}"; }                # TYPE [PARAM]: a pattern
# Moves the far end's recording of the latest call to $SHARE/NAME.
far_heard() { local file; file=$(ls -t "$WORK/far"/*-dec.wav 2>/dev/null | head -1); [ -n "$file" ] && mv "$file" "$SHARE/$1"; }

end_softphones() {
	exec 8>&-
	kill "$BOARD_PHONE" "$FAR_PHONE" "$FAR_EVENTS" 2>/dev/null
	wait "$BOARD_PHONE" "$FAR_PHONE" "$FAR_EVENTS" 2>/dev/null
}

# A 1 kHz tone each way between the far end and headset $1, for some seconds: the shares of "analyse tone".
tones() { # h1|h2 WHAT
	hs $1 sco-reset
	sleep "${TONE_SECONDS:-15}"
	hs $1 wav "tone-$1.wav" >/dev/null
	local down
	down=$(analyse tone "tone-$1.wav" 1000 --from +2 --to -2)
	note "$2: tone at the headset: $(jq -c . <<<"$down")"
	at_least "$2: tone at the headset: mean share" "$(jq .share_mean <<<"$down")" 0.98
}

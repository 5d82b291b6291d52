#!/bin/bash
# lab: limit=300 alone=1 unit=debian12
# bluez-alsa as hands-free unit, in a guest of its own: paired by btcall, a call taken and one made by it, a tone each way,
# volumes, hang-up by each side. Debian 12's build has CVSD only, Debian 13's mSBC, too. bluez-alsa makes the connection and
# carries the sound; calls are its user's, over its AT channel. It sends nothing until a player has its PCM open.
. "$LAB/lib.sh"
. "$LAB/unit.sh"

# The PCM that has the speaker's volume.
pcm='org.bluealsa $(busctl --system --list tree org.bluealsa | grep -m 1 hfphf/$speaker) org.bluealsa.PCM1'
at() { unit "echo '$1' > /run/lab/at"; }
gateway_said() { unit "grep -qE '$1' \$SHARE/at.log"; }                         # PATTERN: since the mark
mark_at() { unit ': > $SHARE/at.log'; }

unit_rings() { gateway_said '^:?RING' && gateway_said "^.CLIP:.*\"\\$1\""; }
unit_answers() { mark_at; at ATA; }
unit_hangs_up() { mark_at; at AT+CHUP; }
unit_dials() { mark_at; at "ATD$1;"; }
# The indicators "call" of this call, as the gateway numbers it.
unit_is_active() { gateway_said "^.CIEV: ?$CALL,1"; }
unit_is_idle() { gateway_said "^.CIEV: ?$CALL,0"; }
unit_sets_volume() { unit "busctl --system set-property $pcm Volume q $(($1 << 8))"; }
unit_volume() { local v; v=$(unit "busctl --system get-property $pcm Volume") && echo $((${v#q } >> 8 & 127)); }
unit_talks() { # in the codec's rate: this PCM converts none
	local pcm="bluealsa:DEV=\$gateway,PROFILE=sco"
	unit "listen $pcm $1 $rate; speak $pcm \$SHARE/mic-$rate.wav $rate" >/dev/null
}

unit_boots
codec=cvsd rate=8000
unit "bluealsa --help | grep -q 'hfp-.*mSBC'" && codec=msbc rate=16000
# 4.0 has the speaker's volume at the microphone's PCM.
unit 'speaker=source; [[ $(bluealsa --version) != v4.0* ]] || speaker=sink' >/dev/null
unit 'nice -n -10 bluealsa -p hfp-hf >>$SHARE/bluealsa.log 2>&1 &' >/dev/null
check "bluez-alsa runs" wait_until 10 unit has_name org.bluealsa
start_unit "Foreign unit" $rate
pair_unit
unit 'python3 $LAB/guest/bluealsa-at.py $gateway /run/lab/at >>$SHARE/at.log 2>&1 &' >/dev/null
check "its AT channel is open" wait_until 10 gateway_said '^open'
mark_at
at 'AT+CIND=?'
check "it is answered" wait_until 5 gateway_said '^.CIND:'
at AT+CLIP=1                                            # its user's, too: who calls
check "it leaves the volume to the headset" unit "busctl --system set-property $pcm SoftVolume b false"
CALL=$(unit 'grep -m 1 "^.CIND:" $SHARE/at.log' | grep -o '("[a-z]*"' | grep -n '"call"' | cut -d: -f1)
note "its indicator of calls is number $CALL"

takes_a_call $codec
mark_at
makes_a_call $codec

end_unit
finish

#!/bin/bash
# A telephony application in a shell: one incoming call, which people answer, hold and end as they like.
#     Examples/shell-provider.sh NUMBER
# btcalld is where btcall finds it (BTCALL_BUS). It prints what happens, and ends with the call.
coproc BTCALL { exec btcall provider --name shell --capabilities hold,dtmf; }

tell() { printf '%s\n' "$1" >&"${BTCALL[1]}"; }
# field NAME: that member of the line.
field() { sed -nE "s/.*\"$1\":\"?([^\",}]*).*/\1/p" <<<"$line"; }

while read -r line <&"${BTCALL[0]}"; do
	event=$(field event)
	case $event in
	registered) tell "{\"report\":\"incoming\",\"number\":\"$1\"}" ;;
	reported) echo "ringing: $(field call)" ;;
	answer | hold | resume | dtmf | end)
		# Here it is done: the door opens its microphone, the modem gets its ATA. What fails is {"id":1,"error":"why"}.
		echo "asked: $event $(field tones)"
		tell "{\"id\":$(field id),\"ok\":true}"
		;;
	state)
		echo "state: $(field state)"
		[ "$(field state)" = ended ] && exit 0
		;;
	error | released) echo "$line" >&2 && exit 1 ;;
	esac
done

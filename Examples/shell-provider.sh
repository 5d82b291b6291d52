#!/bin/bash
# A telephony application in a shell: one incoming call that people answer, hold and end.
#     Examples/shell-provider.sh NUMBER
# Uses the bus that btcall uses (BTCALL_BUS). Prints what happens, and ends with the call.
coproc BTCALL { exec btcall provider --name shell --capabilities hold,dtmf; }

tell() { printf '%s\n' "$1" >&"${BTCALL[1]}"; }
# field NAME: prints the member NAME of the line.
field() { sed -nE "s/.*\"$1\":\"?([^\",}]*).*/\1/p" <<<"$line"; }

while read -r line <&"${BTCALL[0]}"; do
	event=$(field event)
	case $event in
	registered) tell "{\"report\":\"incoming\",\"number\":\"$1\"}" ;;
	reported) echo "ringing: $(field call)" ;;
	answer | hold | resume | dtmf | end)
		# Carry the request out here: open the microphone of the door, send ATA to the modem. To refuse it: {"id":1,"error":"why"}.
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

#!/bin/bash
# lab: limit=420 bonds="h1 h2"
# A third-party softphone with a headset: baresip on the PCM btcall, followed by btcall-baresip. The headset rings with the
# caller's number, answers, hears the far end and is heard, holds, sends tones, is lost, and the next one takes over.
. "$LAB/lib.sh"
. "$LAB/softphone.sh"

install_pcm || fail "the plug-in is installed"
start_btcalld || fail "btcalld starts"
bonded $H1 $H2 || fail "the headsets are paired"
hs h2 power off
check "preferred device is set" btcall prefer bluetooth
check "default device is set" btcall default earpiece
hs h1 mic tone 1000 0.4
hs h2 mic tone 1000 0.4
check "headset 1 connects" switch_on h1
check "headset 1 is available" wait_until 5 connected $H1
far_softphone || fail "the far baresip starts"
board_softphone
start_follower || fail "btcall-baresip starts"
check "baresip is followed" wait_until 40 grep -q "following baresip" "$SHARE/btcall-baresip.log"
check "and is a provider" wait_until 10 grep -q "baresip registered as call provider" "$SHARE/btcalld.log"

# Incoming, answered by the headset's button.
hs h1 mark
far_mark
far dial "$BOARD"
check "the headset rings" hs h1 wait ring 15
check "with the caller's number" wait_until 5 eval "[ \"\$(json '.[0].number' calls)\" = +4930123 ]"
is "and name" "$(json '.[0].name' calls)" Ann
check "ATA is accepted" hs h1 answer
check "the far end hears of the answer" far_wait "$(far_event CALL_ESTABLISHED)" 10
check "the call is active" wait_until 5 calls_are active
check "audio link opens" hs h1 wait sco 10
check "route is headset 1" wait_route bluetooth:$H1 5
sleep 3
tones h1 "headset 1"

# Hold and tones.
far_mark
check "AT+CHLD=2 is accepted" hs h1 at AT+CHLD=2
check "the call is held" wait_until 5 calls_are held
check "the far end is notified" far_wait "$(far_event CALL_REMOTE_SDP offer)" 5
far_mark
check "AT+CHLD=2 resumes" hs h1 at AT+CHLD=2
check "the call is active again" wait_until 5 calls_are active
check "the far end is notified of that, too" far_wait "$(far_event CALL_REMOTE_SDP offer)" 5
far_mark
check "a tone is accepted" hs h1 at AT+VTS=5
check "the far end receives it" far_wait "$(far_event CALL_DTMF_START 5)" 5

# The headset is lost, the earpiece takes the call, then headset 2; baresip never notices.
errors() { grep -ciE 'alsa.*(error|fail)|no such device' "$SHARE/baresip-board.log"; }
before=$(errors)
hs h1 power lost 12 >/dev/null
check "route is the earpiece" wait_route earpiece 10
check "headset 2 connects" switch_on h2
check "route is headset 2" wait_route bluetooth:$H2 15
check "the call is still active" calls_are active
sleep 3
tones h2 "headset 2"
is "errors that baresip tells of its sound card" "$(errors)" "$before"
hs h2 mark
far_mark
check "the headset ends the call" hs h2 hangup
check "the far end is notified" far_wait "$(far_event CALL_CLOSED)" 5
check "no call is left" wait_until 5 calls_are ""
sleep 1
far_heard far-heard.wav
up=$(analyse tone far-heard.wav 1000 --from +8 --to +18)
note "tone at the far end: $(jq -c . <<<"$up")"
at_least "tone at the far end: mean share" "$(jq .share_mean <<<"$up")" 0.98

# Outgoing, dialled at the headset, ended by the far end.
hs h2 mark
far_mark
check "the headset dials" hs h2 at "ATD+4930123;"
check "it rings there" far_wait "$(far_event CALL_INCOMING)" 10
check "the headset is notified of that" hs h2 wait indicator 5 callsetup=3
far accept
check "the headset is notified of the answer" hs h2 wait indicator 5 call=1
check "the call is active" wait_until 5 calls_are active
far hangup
check "the far end ends it" wait_until 5 calls_are ""
stop_follower
end_softphones
stop_btcalld
finish

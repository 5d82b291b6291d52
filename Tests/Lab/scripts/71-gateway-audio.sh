#!/bin/bash
# lab: limit=420 bonds="h1"
# Audio link behaviour of a headset: refuses it, requests it, changes its codecs, answers +BCS wrongly or not at all. Each
# time the link opens in the end, and the learnt codecs are used.
. "$LAB/lib.sh"

start_btcalld || fail "btcalld starts"
bonded $H1 || fail "headset 1 is paired"
check "preferred device is set" btcall prefer bluetooth
check "default device is set" btcall default earpiece

codec_is() { [ "$(hs h1 status | jq -r .codec)" = "$1" ]; }
heard() { # number of +BCS since the mark
	hs h1 events | jq --argjson from "$marked" '[.[$from:][] | select(.[1] == "bcs") | .[2]] | map(tostring) | join(" ")' -r
}
mark() { hs h1 mark; marked=$(hs h1 status | jq .events); }
fresh() { # WHAT: the headset with factory settings, in a new connection
	hs h1 power off 2>/dev/null
	hs h1 codec-answer right; hs h1 refuse-links 0; hs h1 codecs cvsd,msbc
	check "$1: headset 1 connects" switch_on h1
	check "$1: headset 1 is available" wait_until 5 connected $H1
	mark
}
call_with() { # WHAT CODEC: a call whose link comes up with that codec
	test_call --outgoing --number 1001 --far-end tone:700 --seconds 60
	check "$1: the link opens" hs h1 wait sco 25
	check "$1: with $2" codec_is $2
	check "$1: the call is with headset 1" wait_route bluetooth:$H1 5
	is "$1: the daemon says the same codec" "$(json '.codec | ascii_downcase' status)" $2
}
end_call() { check "$1: the call ends" hs h1 hangup; check "$1: at the provider, too" wait_test_call 5; check "$1: no link is left" wait_until 5 codec_is null; }

# Headset-initiated audio, and codecs that change in the connection.
fresh "audio"
call_with "audio" msbc
is "audio: the codec was chosen once" "$(heard)" 2
mark
sleep 2                                                # a link that ends as soon as it is open counts as failed
check "audio: headset 1 closes its link" hs h1 audio-close
check "audio: the call is on the earpiece" wait_route earpiece 5
check "audio: headset 1 asks for its link" hs h1 audio-open
check "audio: the call is with headset 1 again" wait_route bluetooth:$H1 10
check "audio: with the same codec" codec_is msbc
is "audio: which is not chosen again" "$(heard)" ""
sleep 2
check "codecs: headset 1 closes its link" hs h1 audio-close
check "codecs: the call is on the earpiece" wait_route earpiece 5
mark
check "codecs: headset 1 has CVSD only" hs h1 offer-codecs cvsd
check "codecs: headset 1 asks for its link" hs h1 audio-open
check "codecs: the call is with headset 1" wait_route bluetooth:$H1 10
check "codecs: with CVSD" codec_is cvsd
is "codecs: as it was chosen" "$(heard)" 1
end_call "codecs"

# A headset that refuses mSBC gets the other codec.
fresh "refused"
hs h1 refuse-links 1
call_with "refused" cvsd
is "refused: mSBC was chosen, then CVSD" "$(heard)" "2 1"
end_call "refused"
mark
call_with "learnt" cvsd
is "learnt: mSBC is not tried again" "$(heard)" ""
end_call "learnt"

# +BCS without an answer: once more, then CVSD.
hs h1 power off
hs h1 codecs cvsd,msbc
fresh "unanswered"
hs h1 codec-answer never
call_with "unanswered" cvsd
note "unanswered: +BCS $(heard)"
end_call "unanswered"

# +BCS answered with the other codec: refused, and chosen again.
fresh "wrong"
hs h1 codec-answer wrong
call_with "wrong" cvsd
note "wrong: +BCS $(heard), $(hs h1 events | jq -c --argjson from "$marked" '[.[$from:][] | select(.[1] | startswith("at-")) | .[2]]')"
end_call "wrong"

stop_btcalld
finish

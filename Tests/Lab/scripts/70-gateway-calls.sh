#!/bin/bash
# lab: limit=420 bonds="h1 h2"
# Telephony requests from a headset: three ways of dialling, tones, all operations on a second call, rejection, and battery
# reports; and a second headset that receives the same reports at the same time.
. "$LAB/lib.sh"

{ lab_config; printf '[calls]\nmemory = 1:5551000, 2:110\n'; } > "$SHARE/calls.conf"
start_btcalld "$SHARE/calls.conf" || fail "btcalld starts"
bonded $H1 $H2 || fail "the headsets are paired"
check "preferred device is set" btcall prefer bluetooth:$H1
check "default device is set" btcall default earpiece
check "headset 1 connects" switch_on h1
check "headset 2 connects" switch_on h2
check "headset 1 is available" wait_until 5 connected $H1
check "headset 2 is available" wait_until 5 connected $H2

numbers_are() { [ "$(json 'map("\(.number) \(.state)") | join(", ")' calls)" = "$1" ]; }      # "1 active, 2 held"
first_call() { test_call "$@"; FIRST=$TEST_CALL; }
ended() { wait_until 10 eval "! kill -0 $1"; }                                               # PID of a provider
dialled() { # WHAT AT-LINE NUMBER: the headset dials, the far end answers, the headset hangs up
	test_call --dialled --far-end tone:700 --seconds 60
	check "$1: there is somebody to dial for" wait_until 10 eval "tail -1 '$SHARE/test-call.log' | grep -q 'until somebody dials'"
	hs h1 mark; hs h2 mark
	check "$1: $2 is accepted" hs h1 at "$2"
	check "$1: headset 1 is notified of the dialling" hs h1 wait indicator 5 callsetup=2
	check "$1: that it rings there" hs h1 wait indicator 5 callsetup=3
	check "$1: and that it is answered" hs h1 wait indicator 5 call=1
	check "$1: headset 2 is notified, too" hs h2 wait indicator 5 call=1
	check "$1: the call is to $3" numbers_are "$3 active"
	check "$1: the call is with headset 1" wait_route bluetooth:$H1 10
}
hung_up() { # WHAT
	check "$1: the headset hangs up" hs h1 hangup
	check "$1: the provider's call ends" wait_test_call 5
	check "$1: no call is left" wait_until 5 calls_are ""
}

# Dialling.
check "last number: none is known yet" eval "! hs h1 redial"
dialled "number" "ATD+4930123;" +4930123
check "number: a tone is accepted" hs h1 at AT+VTS=5
check "number: another one, too" hs h1 at "AT+VTS=#"
check "number: no letter is a tone" eval "! hs h1 at AT+VTS=x"
check "number: the far end hears the tones" wait_until 5 eval "grep -q 'tones: 5' '$SHARE/test-call.log' && grep -q 'tones: #' '$SHARE/test-call.log'"
hung_up "number"
dialled "memory" "ATD>1;" 5551000
check "memory: an empty location is refused" eval "! hs h1 at 'ATD>9;'"
hung_up "memory"
dialled "last number" "AT+BLDN" 5551000
hung_up "last number"

# A second call: held and accepted, swapped, the active one ended; then one that ends the first at once.
first_call --outgoing --number 1001 --far-end tone:700 --seconds 100
check "waiting: the first call is active" wait_until 10 numbers_are "1001 active"
hs h1 mark
test_call --incoming --number 1002 --far-end tone:900 --seconds 100
SECOND=$TEST_CALL
check "waiting: headset 1 is notified of the second call" hs h1 wait at-rx 10 '+CCWA: "1002"'
check "waiting: AT+CHLD=2 is accepted" hs h1 at AT+CHLD=2
check "waiting: the first is held, the second active" wait_until 5 numbers_are "1001 held, 1002 active"
check "waiting: headset 1 knows that one is held" hs h1 wait indicator 5 callheld=1
check "swap: AT+CHLD=2 is accepted" hs h1 at AT+CHLD=2
check "swap: the first is active, the second held" wait_until 5 numbers_are "1001 active, 1002 held"
note "calls as headset 1 lists them: $(hs h1 at AT+CLCC | jq -c .)"
check "ended: AT+CHLD=1 is accepted" hs h1 at AT+CHLD=1
check "ended: the second is active" wait_until 5 numbers_are "1002 active"
check "ended: the first has ended at its provider" ended $FIRST
check "waiting: the call is with headset 1" wait_route bluetooth:$H1 5
first_call --incoming --number 1003 --far-end tone:900 --seconds 100
check "release: headset 1 is notified of the next call" hs h1 wait at-rx 10 '+CCWA: "1003"'
check "release: AT+CHLD=1 is accepted" hs h1 at AT+CHLD=1
check "release: the next is active" wait_until 5 numbers_are "1003 active"
check "release: the other one has ended at its provider" ended $SECOND
test_call --incoming --number 1004 --far-end tone:900 --seconds 100
check "reject: headset 1 is notified of a call" hs h1 wait at-rx 10 '+CCWA: "1004"'
check "reject: AT+CHLD=0 is accepted" hs h1 at AT+CHLD=0
check "reject: its provider's call ends" wait_test_call 5
check "reject: the first is still active" numbers_are "1003 active"
check "the last one is ended" hs h1 hangup
check "it has ended at its provider" ended $FIRST

# Both ring; the one that answers has the call, regardless of preferences.
hs h1 mark; hs h2 mark
test_call --incoming --number 1005 --far-end tone:700 --seconds 60
check "both: headset 1 rings" hs h1 wait ring 10
check "both: headset 2 rings" hs h2 wait ring 10
check "both: headset 2 answers" hs h2 answer
check "both: the call is with headset 2" wait_route bluetooth:$H2 10
check "both: headset 1 knows that it is answered" hs h1 wait indicator 5 call=1
is "both: headset 1 has no link" "$(hs h1 status | jq .sco)" false
check "both: headset 1 may end it" hs h1 hangup
check "both: the provider's call ends" wait_test_call 5
check "both: headset 2 is notified" hs h2 wait indicator 5 call=0

# Rejected while it rings.
hs h1 mark
test_call --incoming --number 1006 --far-end tone:700 --seconds 60
check "rejection: headset 1 rings" hs h1 wait ring 10
check "rejection: AT+CHUP is accepted" hs h1 hangup
check "rejection: the provider's call ends" wait_test_call 5
check "rejection: headset 1 is notified" hs h1 wait indicator 5 callsetup=0

# Battery, in every form that this headset can send.
battery_is() { [ "$(device_json bluetooth:$H1 | jq .battery)" = "$1" ]; }
battery() { # WHAT PERCENT COMMAND...
	local what=$1 percent=$2; shift 2
	check "battery: $what is accepted" hs h1 "$@"
	check "battery: $what is shown as $percent percent" wait_until 5 battery_is "$percent"
}
battery "HF indicator 2" 65 battery 65
battery "Apple's AT+IPHONEACCEV" 40 apple-battery 3
battery "Plantronics' AT+XEVENT" 75 plantronics-battery 3 5
battery "Plantronics' short AT+XEVENT" 60 plantronics-battery 5
battery "CSR's AT+CSRBATT" 100 csr-battery 9
check "battery: more than there is, is refused" eval "! hs h1 at AT+BIEV=2,101"
check "battery: and changes nothing" battery_is 100
check "battery: headset 2 has reported nothing" eval "[ \"\$(device_json bluetooth:$H2 | jq .battery)\" = null ]"
stop_btcalld
finish

#!/bin/bash
# lab: limit=300 bonds="h1"
# A person's actions at the headset: answer, end, volume; and the headset's battery reports.
. "$LAB/lib.sh"

start_btcalld || fail "btcalld starts"
bonded $H1 || fail "headset 1 is paired"
check "preferred device is set" btcall prefer bluetooth
check "default device is set" btcall default earpiece
check "headset 1 connects" switch_on h1
check "headset 1 is available" wait_until 5 eval "device_json bluetooth:$H1 | jq -e .available"
sleep 1                                                 # until it has settled
golden why-controls-idle.txt why

# An incoming call, answered and ended at the headset.
hs h1 mark
test_call --incoming --number +4912345 --far-end tone:700 --seconds 60
check "the headset rings" hs h1 wait ring 10
# The ring tone comes through it.
check "audio link opens" hs h1 wait sco 10
hs h1 mark
is "the incoming call is shown" "$(json '.[0] | "\(.state) \(.direction) \(.number)"' calls)" "ringing incoming +4912345"
check "ATA is accepted" hs h1 answer
check "the call is active" wait_until 5 calls_are active
check "the headset is notified that the call is active" hs h1 wait indicator 5 call=1
check "route is the headset" wait_route bluetooth:$H1 5
golden why-controls-answered.txt why

# Volume both ways, battery.
for level in 3 15 0 9; do hs h1 vgs $level >/dev/null; done
check "volume from the headset is shown" wait_until 5 eval "[ \"\$(device_json bluetooth:$H1 | jq .speakerVolume)\" = 9 ]"
hs h1 battery 60 >/dev/null
check "battery by HF indicator is shown" wait_until 5 eval "[ \"\$(device_json bluetooth:$H1 | jq .battery)\" = 60 ]"
check "Apple battery is accepted" hs h1 apple-battery 3
check "Apple battery (level 3 of 9) is shown as 40 percent" wait_until 5 eval "[ \"\$(device_json bluetooth:$H1 | jq .battery)\" = 40 ]"
note "device: $(device_json bluetooth:$H1)"

hs h1 mark
check "AT+CHUP is accepted" hs h1 hangup
check "it ends the call at the provider" wait_test_call 5
check "the headset is notified that the call has ended" hs h1 wait indicator 5 call=0
check "no call is left" wait_until 5 calls_are ""

# An incoming call, rejected at the headset.
hs h1 mark
test_call --incoming --number 1003 --far-end tone:700 --seconds 60
check "the headset rings again" hs h1 wait ring 10
check "AT+CHUP rejects" hs h1 hangup
check "the provider's call ends" wait_test_call 5

# A command unknown to every gateway.
check "an unknown command is refused" eval "! hs h1 at AT+NOSUCH=1"
check "and the connection stands" eval "hs h1 at 'AT+CIND?'"

# Older headsets.
for profile in 1.5 1.6 1.7 minimal; do
	hs h1 power off
	sleep 0.5
	hs h1 profile $profile
	check "HFP $profile: service level connection" switch_on h1
	check "HFP $profile: device is available" wait_until 5 eval "device_json bluetooth:$H1 | jq -e .available"
done
stop_btcalld
finish

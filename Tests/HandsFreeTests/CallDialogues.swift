import HandsFree

let callDialogues: [Dialogue] = [
    Dialogue(
        "ICA: incoming call, rung every three seconds, answered by the headset",
        """
        slc 255 1,2
        * calls 1 in incoming +49301234 Anna
        < +CIEV: 3,1
        < RING
        < +CLIP: "+49301234",145,,,"Anna"
        @ 3000
        < RING
        < +CLIP: "+49301234",145,,,"Anna"
        @ 2999
        > ATA
        ! answer 1
        @ 500
        . ok
        < OK
        * calls 1 in active +49301234 Anna
        < +CIEV: 2,1
        < +CIEV: 3,0
        @ 60000
        """),
    Dialogue(
        "A22: what happens while a request is pending is said after the reply",
        """
        slc 255 1,2
        > ATD5551;
        ! dial 5551
        * calls 1 out setup 5551
        * calls 1 out dialing 5551
        * set signal 3
        > AT+VGS=3
        * calls 1 out alerting 5551
        . ok
        < OK
        < +CIEV: 3,2
        < +CIEV: 5,3
        < +CIEV: 3,3
        = volume speaker 3
        < OK
        * calls 1 out active 5551
        < +CIEV: 2,1
        < +CIEV: 3,0
        """),
    Dialogue(
        "the provider refuses: ERROR, and the call rings on",
        """
        slc 255 1,2
        * calls 1 in incoming 5551
        < +CIEV: 3,1
        < RING
        < +CLIP: "5551",129
        > ATA
        ! answer 1
        . error 0
        < ERROR
        @ 3000
        < RING
        < +CLIP: "5551",129
        > AT+CMEE=1
        < OK
        > ATA
        ! answer 1
        . error 30
        < +CME ERROR: 30
        """),
    Dialogue(
        "a request that nobody completes is answered after ten seconds, once",
        """
        slc 255 1,2
        > ATD5551;
        ! dial 5551
        @ 9999
        @ 1
        < ERROR
        . ok
        """),
    Dialogue(
        "ICR: rejected by the headset; CIT: the caller gives up",
        """
        slc 255 1,2
        * calls 1 in incoming 5551
        < +CIEV: 3,1
        < RING
        < +CLIP: "5551",129
        > AT+CHUP
        ! reject 1
        . ok
        < OK
        * calls
        < +CIEV: 3,0
        * calls 2 in incoming -
        < +CIEV: 3,1
        < RING
        * calls
        < +CIEV: 3,0
        @ 10000
        """),
    Dialogue(
        "rule 10: connection lost while ringing asks for nothing", { $0.features.remove(.rejectCall) },
        """
        slc 255 1,2
        * calls 1 in incoming 5551
        < +CIEV: 3,1
        < RING
        < +CLIP: "5551",129
        > AT+CHUP
        < ERROR
        """),
    Dialogue(
        "TCA: ended by the headset, by the other end, on loss of the network",
        """
        slc 255 1,2
        * calls 1 out active 5551
        < +CIEV: 2,1
        > AT+CHUP
        ! hangup 1
        . ok
        < OK
        * calls
        < +CIEV: 2,0
        > AT+CHUP
        < ERROR
        * calls 1 out active 5551
        < +CIEV: 2,1
        * set service 0
        < +CIEV: 1,0
        * calls
        < +CIEV: 2,0
        < NO CARRIER
        """),
    Dialogue(
        "TCA 04, 05: AT+CHUP takes the outgoing call, or the active one while another waits",
        """
        slc 255 1,2
        * calls 1 out alerting 5551
        < +CIEV: 3,3
        > AT+CHUP
        ! hangup 1
        . ok
        < OK
        * calls
        < +CIEV: 3,0
        * calls 1 out active 5551
        < +CIEV: 2,1
        * calls 1 out active 5551, 2 in waiting 5552
        < +CCWA: "5552",129
        < +CIEV: 3,1
        > AT+CHUP
        ! hangup 1
        . ok
        < OK
        * calls 2 in incoming 5552
        < +CIEV: 2,0
        < RING
        < +CLIP: "5552",129
        """),
    Dialogue(
        "OCN, OCM, OCL: dialled by number, from memory, again; nothing there is an ERROR",
        { $0.memory = [1: "5551000"] },
        """
        slc 255 1,2
        > AT+BLDN
        < ERROR
        > ATD>1;
        ! dial 5551000
        . ok
        < OK
        > ATD>2;
        < ERROR
        > ATD>99999999999999;
        < ERROR
        > AT+BLDN
        ! dial 5551000
        . ok
        < OK
        > ATD+49*30#12pw;
        ! dial +49*30#12pw
        . error 3
        < ERROR
        > AT+BLDN
        ! dial 5551000
        . ok
        < OK
        """),
    Dialogue(
        "A18: dial strings that cannot be",
        """
        slc 255 1,2
        > ATD;
        < ERROR
        > ATD5551
        < ERROR
        > ATD55x1;
        < ERROR
        > ATD12345678901234567890123456789012345678901234567890123456789012345678901234567890;
        ! dial 12345678901234567890123456789012345678901234567890123456789012345678901234567890
        . ok
        < OK
        > ATD123456789012345678901234567890123456789012345678901234567890123456789012345678901;
        < ERROR
        """),
    Dialogue(
        "TWC 02: a waiting call is announced before its indicator, then swapped with the active one",
        """
        slc 255 1,2
        * calls 1 out active 5551
        < +CIEV: 2,1
        * calls 1 out active 5551, 2 in waiting 5552 Bo
        < +CCWA: "5552",129,1,"Bo"
        < +CIEV: 3,1
        @ 10000
        > AT+CHLD=2
        ! chld 2
        . ok
        < OK
        * calls 1 out held 5551, 2 in active 5552 Bo
        < +CIEV: 3,0
        < +CIEV: 4,1
        > AT+CHLD=2
        ! chld 2
        . ok
        < OK
        * calls 1 out active 5551, 2 in held 5552 Bo
        < +CIEV: 4,1
        * calls 1 out active 5551, 2 in held 5552 Bo
        > AT+CHLD=1
        ! chld 1
        . ok
        < OK
        * calls 2 in active 5552 Bo
        < +CIEV: 4,0
        """),
    Dialogue(
        "TWC 05: a second outgoing call puts the first one on hold",
        """
        slc 255 1,2
        * calls 1 out active 5551
        < +CIEV: 2,1
        > ATD5552;
        ! dial 5552
        * calls 1 out held 5551, 2 out dialing 5552
        . ok
        < OK
        < +CIEV: 3,2
        < +CIEV: 4,2
        * calls 1 out held 5551, 2 out alerting 5552
        < +CIEV: 3,3
        * calls 1 out held 5551, 2 out active 5552
        < +CIEV: 3,0
        < +CIEV: 4,1
        """),
    Dialogue(
        "TWC 01, ECC BI-03/04: reject the waiting call; what is not offered or not there is an ERROR",
        {
            $0.features.remove(.enhancedCallControl)
        },
        """
        slc 255 1,2
        > AT+CHLD=0
        < ERROR
        > AT+CHLD=2
        < ERROR
        * calls 1 out active 5551, 2 in waiting 5552
        < +CCWA: "5552",129
        < +CIEV: 2,1
        < +CIEV: 3,1
        > AT+CHLD=0
        ! chld 0
        . ok
        < OK
        * calls 1 out active 5551
        < +CIEV: 3,0
        > AT+CHLD=11
        < ERROR
        > AT+CHLD=21
        < ERROR
        > AT+CHLD=3
        < ERROR
        > AT+CHLD=9
        < ERROR
        > AT+CHLD=?
        < +CHLD: (0,1,2)
        < OK
        """),
    Dialogue(
        "ECC BV-01/02: by index, of a call that exists",
        """
        slc 255 1,2
        * calls 1 out active 5551, 2 in held 5552
        < +CIEV: 2,1
        < +CIEV: 4,1
        > AT+CHLD=12
        ! chld 12
        . ok
        < OK
        > AT+CHLD=13
        < ERROR
        > AT+CHLD=22
        ! chld 22
        . ok
        < OK
        """),
    Dialogue(
        "A24: call waiting is announced only when asked for",
        """
        slc 255 1,2
        > AT+CCWA=0
        < OK
        > AT+CLIP=0
        < OK
        * calls 1 out active 5551, 2 in waiting 5552
        < +CIEV: 2,1
        < +CIEV: 3,1
        * calls 2 in incoming 5552
        < +CIEV: 2,0
        < RING
        """),
    Dialogue(
        "rule 7, 8: lists of calls and own numbers",
        {
            $0.subscriberNumbers = [SubscriberNumber(number: "+49301"), SubscriberNumber(number: "302", service: 5)]
        },
        """
        slc 255 1,2
        > AT+CLCC
        < OK
        * calls 1 out active +495551, 2 in waiting -, 3 out held 12, 4 out setup 13
        < +CCWA: "",128
        < +CIEV: 2,1
        < +CIEV: 3,1
        < +CIEV: 4,1
        > AT+CLCC
        < +CLCC: 1,0,0,0,0,"+495551",145
        < +CLCC: 2,1,5,0,0
        < +CLCC: 3,0,1,0,0,"12",129
        < OK
        > AT+CNUM
        < +CNUM: ,"+49301",145,,4
        < +CNUM: ,"302",129,,5
        < OK
        """),
    Dialogue(
        "A7: lists that we do not offer are empty, not errors",
        {
            $0.features.subtract([.enhancedCallStatus, .hfIndicators, .threeWay])
        },
        """
        slc 255 1,2
        * calls 1 out active 5551
        < +CIEV: 2,1
        > AT+CLCC
        < OK
        > AT+CNUM
        < OK
        > AT+BTRH?
        < OK
        > AT+BIND?
        < OK
        > AT+BIND=?
        < OK
        > AT+BIND=1
        < OK
        > AT+CCWA=1
        < OK
        > AT+BTRH=0
        < ERROR
        """),
    Dialogue(
        "TDC: tones, only while a call is up",
        """
        slc 255 1,2
        > AT+VTS=1
        < ERROR
        * calls 1 out active 5551
        < +CIEV: 2,1
        > AT+VTS=1
        ! dtmf 1
        . ok
        < OK
        > AT+VTS=#
        ! dtmf #
        . ok
        < OK
        > AT+VTS="d",2
        ! dtmf D
        . ok
        < OK
        > AT+VTS=E
        < ERROR
        > AT+VTS=12
        < ERROR
        > AT+VTS=
        < ERROR
        """),
    Dialogue(
        "A19: a name or number ends neither the line nor the string",
        """
        slc 255 1,2
        * calls 1 in incoming 55"1\u{0D};AT A"B\\C\u{0D}\u{0A}OK\u{85}\u{2028}\u{202E}é
        < +CIEV: 3,1
        < RING
        < +CLIP: "551AT",129,,,"A'B/COKé"
        """),
    Dialogue(
        "commands that wait are answered in their turn",
        """
        slc 255 1,2
        > ATD1;
        ! dial 1
        > AT+NOSUCH
        > ATD2;
        > AT+CLCC
        . ok
        < OK
        < ERROR
        ! dial 2
        . ok
        < OK
        < OK
        """),
    Dialogue(
        "RHH: response and hold, when configured", { $0.responseAndHold = true },
        """
        slc 255 1,2
        > AT+BTRH=0
        < ERROR
        * calls 1 in incoming -
        < +CIEV: 3,1
        < RING
        > AT+BTRH=0
        ! btrh 0
        . ok
        < OK
        < +BTRH: 0
        > AT+BTRH?
        < +BTRH: 0
        < OK
        """),
    Dialogue(
        "ICA 02: in-band ring is announced when it changes", { $0.inbandRing = true },
        """
        slc 255 1,2
        * inband on
        * inband off
        < +BSIR: 0
        * inband on
        < +BSIR: 1
        """),
]

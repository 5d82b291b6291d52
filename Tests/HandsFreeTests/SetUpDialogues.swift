import HandsFree

/// Service level connections of different headsets. 0x4EF = 1263 is what the standard gateway announces.
let setUpDialogues: [Dialogue] = [
    Dialogue(
        "SLC BV-02/05/10: HFP 1.7 headset with three-way calling, codec negotiation and HF indicators",
        """
        > AT+BRSF=511
        < +BRSF: 4073
        < OK
        > AT+BAC=1,2
        = codecs CVSD,mSBC
        < OK
        > AT+CIND=?
        < +CIND: ("service",(0,1)),("call",(0,1)),("callsetup",(0-3)),("callheld",(0-2)),("signal",(0-5)),\
        ("roam",(0,1)),("battchg",(0-5))
        < OK
        > AT+CIND?
        < +CIND: 1,0,0,0,5,0,5
        < OK
        > AT+CMER=3,0,0,1
        < OK
        > AT+CHLD=?
        < +CHLD: (0,1,1x,2,2x)
        < OK
        > AT+BIND=1,2
        < OK
        > AT+BIND=?
        < +BIND: (1,2)
        < OK
        > AT+BIND?
        < +BIND: 1,1
        < +BIND: 2,1
        < OK
        = established CVSD,mSBC hf 12
        """),
    Dialogue(
        "SLC BV-01: HFP 1.5 headset without three-way calling",
        """
        > AT+BRSF=28
        < +BRSF: 4073
        < OK
        > AT+CIND=?
        < +CIND: ("service",(0,1)),("call",(0,1)),("callsetup",(0-3)),("callheld",(0-2)),("signal",(0-5)),\
        ("roam",(0,1)),("battchg",(0-5))
        < OK
        > AT+CIND?
        < +CIND: 1,0,0,0,5,0,5
        < OK
        > AT+CMER=3,0,0,1
        < OK
        = established -
        """),
    Dialogue(
        "SLC BV-11: bits that we do not know are let pass",
        """
        > AT+BRSF=4294967295
        < +BRSF: 4073
        < OK
        > AT+BRSF=4294967296
        < ERROR
        > AT+BRSF=
        < ERROR
        """),
    Dialogue(
        "A2: commands before BRSF, and an odd order, do not abort it",
        """
        > AT+VGS=7
        = volume speaker 7
        < OK
        > AT+XAPL=05AC-1702-0100,7
        < +XAPL=iPhone,6
        < OK
        > AT+NREC=0
        < ERROR
        > AT+CLIP=1
        < OK
        > AT+BIA=1,1,1,1,0,1,0
        < OK
        > AT+CMER=3,0,0,1
        < OK
        > AT+CIND?
        < +CIND: 1,0,0,0,5,0,5
        < OK
        > AT+CHLD=?
        < +CHLD: (0,1,1x,2,2x)
        < OK
        > AT+BRSF=2
        < +BRSF: 4073
        < OK
        = established -
        """),
    Dialogue(
        "A1, A17: stray line feeds, blanks, lower case, empty lines",
        """
        >  at+brsf = 0
        < +BRSF: 4073
        < OK
        >
        < OK
        > AT
        < OK
        > at+cmer= 3, 0, 0, 1
        < OK
        > AT+CIND?
        < +CIND: 1,0,0,0,5,0,5
        < OK
        = established -
        """),
    Dialogue(
        "A8: a headset that leaves out the HF indicators is taken after two quiet seconds",
        """
        > AT+BRSF=256
        < +BRSF: 4073
        < OK
        > AT+CIND?
        < +CIND: 1,0,0,0,5,0,5
        < OK
        > AT+CMER=3,0,0,1
        < OK
        @ 1999
        @ 1
        = established -
        """),
    Dialogue(
        "the whole set-up has 20 seconds",
        """
        > AT+BRSF=0
        < +BRSF: 4073
        < OK
        @ 19999
        @ 1
        = close setUpTimedOut
        > AT+CIND?
        """),
    Dialogue(
        "rule 11: nothing unsolicited before the last OK, everything that matters after it", { $0.inbandRing = false },
        """
        > AT+BRSF=18
        < +BRSF: 4073
        < OK
        > AT+CIND?
        < +CIND: 1,0,0,0,5,0,5
        < OK
        * calls 1 in incoming 5551
        * set signal 2
        * volume speaker 9
        ~ connect
        > AT+CMER=3,0,0,1
        < OK
        @ 1000
        > AT+CHLD=?
        < +CHLD: (0,1,1x,2,2x)
        < OK
        = established -
        < +BSIR: 0
        < +VGS: 9
        < +CIEV: 3,1
        < +CIEV: 5,2
        < RING
        = connect CVSD
        """),
    Dialogue(
        "ECS BV-02, ICA 07: a headset that connects while a call is up or rings reads it, and rings",
        """
        * calls 1 in incoming 5551
        > AT+BRSF=0
        < +BRSF: 4073
        < OK
        > AT+CLIP=1
        < OK
        > AT+CIND?
        < +CIND: 1,0,1,0,5,0,5
        < OK
        > AT+CMER=3,0,0,1
        < OK
        = established -
        < RING
        < +CLIP: "5551",129
        """),
    Dialogue(
        "A27: a quirk masks feature bits",
        {
            $0.quirks.maskedFeatures = [.codecNegotiation, .hfIndicators]
        },
        """
        > AT+BRSF=511
        < +BRSF: 2537
        < OK
        > AT+BAC=1,2
        < ERROR
        """),
    Dialogue(
        "A9: the three-way list is answered even without the feature", { $0.features.remove(.threeWay) },
        """
        > AT+CHLD=?
        < +CHLD: (0,1)
        < OK
        """),
]

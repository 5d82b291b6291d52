import HandsFree

let indicatorDialogues: [Dialogue] = [
    Dialogue(
        "rule 1, A23: no +CIEV for a value that the headset has",
        """
        slc 255 1,2
        * set signal 5
        * set signal 3
        < +CIEV: 5,3
        * set signal 3
        * set signal 9
        < +CIEV: 5,5
        * set battchg 1
        < +CIEV: 7,1
        * set roam 1
        < +CIEV: 6,1
        * set service 0
        < +CIEV: 1,0
        * set call 1
        = fault indicator call is set by snapshots only
        """),
    Dialogue(
        "IIC: reporting off is silent, AT+CIND? stays true, nothing is made up for",
        """
        slc 255 1,2
        > AT+BIA=,,,,0
        < OK
        > AT+CMER=3,0,0,0
        < OK
        * set signal 2
        * set battchg 2
        * calls 1 out active 5551
        > AT+CIND?
        < +CIND: 1,1,0,0,2,0,2
        < OK
        * calls
        > AT+CMER=3,0,0,1
        < OK
        * set signal 4
        * set battchg 4
        < +CIEV: 7,4
        * calls 1 out active 5551
        * calls
        < +CIEV: 2,0
        """),
    Dialogue(
        "IIA, IID: blanks keep, too many fields pass, the three of calls cannot be switched off",
        """
        slc 255 1,2
        > AT+BIA=0,0,0,0,0,0,0
        < OK
        * set service 0
        * set signal 1
        * calls 1 in incoming -
        < +CIEV: 3,1
        < RING
        > AT+BIA=,,,,1,
        < OK
        * set signal 2
        < +CIEV: 5,2
        * set roam 1
        > AT+BIA=1,1,1,1,1,1,1,1,1,0,1,1,1,1,1,1,1,1,1,1
        < OK
        * set roam 0
        * set roam 1
        < +CIEV: 6,1
        > AT+BIA=2
        < ERROR
        > AT+BIA=x
        < ERROR
        """),
    Dialogue(
        "HFI, A16: the headset's indicators",
        """
        slc 511 1,2
        > AT+BIEV=2,85
        = battery 85 hfIndicator
        < OK
        > AT+BIEV=1,1
        = indicator 1 1
        < OK
        > AT+BIEV=2,101
        < ERROR
        > AT+BIEV=1,2
        < ERROR
        > AT+BIEV=9,1
        < ERROR
        > AT+BIEV=2
        < ERROR
        * hf 2 off
        < +BIND: 2,0
        > AT+BIEV=2,50
        < ERROR
        * hf 2 on
        < +BIND: 2,1
        > AT+BIEV=2,50
        = battery 50 hfIndicator
        < OK
        """),
    Dialogue(
        "A13, A14: battery in the vendors' ways",
        """
        slc 255 1,2
        > AT+IPHONEACCEV=2,1,4,2,0
        = battery 50 apple
        < OK
        > AT+IPHONEACCEV=1,1,9
        = battery 100 apple
        < OK
        > AT+IPHONEACCEV=1,1,10
        < ERROR
        > AT+IPHONEACCEV=99,1,1
        < ERROR
        > AT+XEVENT=BATTERY,5,11,461,0
        = battery 50 plantronics
        < OK
        > AT+XEVENT=BATTERY,9
        = battery 100 plantronics
        < OK
        > AT+XEVENT=BATTERY,5,0
        < ERROR
        > AT+XEVENT=DON
        = vendor DON
        < OK
        > AT+XAPL=Nonsense-Vendor
        < +XAPL=iPhone,6
        < OK
        > AT+CKPD=200
        = button
        < OK
        """),
    Dialogue(
        "RSV, RMV: volume both ways",
        """
        slc 255 1,2
        > AT+VGS=15
        = volume speaker 15
        < OK
        > AT+VGM=0
        = volume microphone 0
        < OK
        > AT+VGS=16
        < ERROR
        > AT+VGS=-1
        < ERROR
        > AT+VGS
        < ERROR
        * volume speaker 99
        < +VGS: 15
        * volume microphone 4
        < +VGM: 4
        """),
    Dialogue(
        "a headset without remote volume is not told", { $0.quirks.noMicrophoneVolume = true },
        """
        slc 239 1,2
        * volume speaker 9
        """),
]

let otherDialogues: [Dialogue] = [
    Dialogue(
        "rule 6: what is not there is an ERROR",
        """
        slc 255 1,2
        > AT+NREC=0
        < ERROR
        > AT+BVRA=1
        < ERROR
        > AT+BINP=1
        < ERROR
        > AT+FOO
        < ERROR
        > HELLO
        < ERROR
        > AT+
        < ERROR
        > ATZ
        < ERROR
        > AT+VGS=1;+VGM=2
        < ERROR
        > AT+CLIP?
        < ERROR
        > AT+CLIP=2
        < ERROR
        > ATA
        < ERROR
        > ATA1
        < ERROR
        """),
    Dialogue(
        "extended errors only when asked for, and only with the feature",
        """
        slc 255 1,2
        > AT+CMEE=1
        < OK
        > AT+FOO
        < +CME ERROR: 4
        > ATD>7;
        < +CME ERROR: 21
        > ATDx;
        < +CME ERROR: 27
        > AT+CMEE=0
        < OK
        > AT+FOO
        < ERROR
        """),
    Dialogue(
        "CMEE without the feature", { $0.features.remove(.extendedErrors) },
        """
        slc 255 1,2
        > AT+CMEE=1
        < ERROR
        > AT+FOO
        < ERROR
        """),
    Dialogue(
        "ENO: echo cancelling off", { $0.features.insert(.echoCancelling) },
        """
        slc 255 1,2
        > AT+NREC=0
        = nrec off
        < OK
        """),
    Dialogue(
        "VRA, VTG: when offered",
        {
            $0.features.formUnion([.voiceRecognition, .voiceTag])
            $0.voiceTagNumber = "5551"
        },
        """
        slc 255 1,2
        > AT+BVRA=1
        = vr on
        < OK
        > AT+BVRA=2
        < ERROR
        * vr off
        < +BVRA: 0
        > AT+BINP=1
        < +BINP: "5551"
        < OK
        """),
    Dialogue(
        "rule 9: a headset without voice recognition is not told", { $0.features.insert(.voiceRecognition) },
        """
        slc 247 1,2
        * vr on
        """),
    Dialogue(
        "PSI 04: the operator", { $0.networkOperator = "Intercom \"of\" the house" },
        """
        slc 255 1,2
        > AT+COPS=3,0
        < OK
        > AT+COPS?
        < +COPS: 0,0,"Intercom 'of' th"
        < OK
        > AT+COPS=1,0
        < ERROR
        """),
    Dialogue(
        "without a network there is no operator; identification",
        """
        slc 255 1,2
        > AT+COPS?
        < +COPS: 0
        < OK
        > AT+CGMI
        < btcall
        < OK
        > AT+CGMR
        < 1
        < OK
        > AT+CGMI?
        < ERROR
        """),
]

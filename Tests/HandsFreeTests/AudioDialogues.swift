import BluetoothTypes
import HandsFree

let audioDialogues: [Dialogue] = [
    Dialogue(
        "ACC BV-17/19, rule 3: mSBC is agreed on once",
        """
        slc 255 1,2
        ~ connect
        < +BCS: 2
        > AT+BCS=2
        < OK
        = connect mSBC
        ~ opened mSBC
        ~ connect
        ~ disconnect
        = disconnect
        ~ closed
        ~ connect
        = connect mSBC
        ~ opened mSBC
        ~ closed
        > AT+BCC
        = audio requested
        < OK
        = connect mSBC
        """),
    Dialogue(
        "ACC BV-16: the headset asks for audio; B1: CVSD is agreed on too",
        """
        slc 255 1
        > AT+BCC
        = audio requested
        < OK
        < +BCS: 1
        > AT+BCS=1
        < OK
        = connect CVSD
        ~ opened CVSD
        > AT+BCC
        = audio requested
        < OK
        """),
    Dialogue(
        "ACC BV-15, A3: no negotiation in the headset, or no codecs from it: CVSD at once",
        """
        slc 127
        > AT+BCC
        < ERROR
        ~ connect
        = connect CVSD
        """),
    Dialogue(
        "A3: the headset has the feature and never says its codecs",
        """
        slc 255
        ~ connect
        = connect CVSD
        ~ failed refused
        = audio failed refused
        """),
    Dialogue(
        "rule 2, ACC BV-26/34: mSBC refused, then CVSD by a new +BCS; the next time CVSD without one",
        """
        slc 255 1,2
        ~ connect
        < +BCS: 2
        > AT+BCS=2
        < OK
        = connect mSBC
        ~ failed refused
        = codec failed mSBC refused
        < +BCS: 1
        > AT+BCS=1
        < OK
        = connect CVSD
        ~ opened CVSD
        ~ closed
        ~ connect
        = connect CVSD
        """),
    Dialogue(
        "when CVSD fails as well, it was not the codec",
        """
        slc 255 1,2
        ~ connect
        < +BCS: 2
        > AT+BCS=2
        < OK
        = connect mSBC
        ~ failed refused
        = codec failed mSBC refused
        < +BCS: 1
        > AT+BCS=1
        < OK
        = connect CVSD
        ~ failed refused
        = audio failed refused
        ~ connect
        < +BCS: 2
        """),
    Dialogue(
        "ACC BV-28/33: three rungs, and an adapter that cannot do the top one is not asked again",
        {
            $0.codecs = [.lc3SWB, .mSBC, .cvsd]
        },
        """
        slc 255 1,2,3,127
        ~ connect
        < +BCS: 3
        > AT+BCS=3
        < OK
        = connect LC3-SWB
        ~ failed unsupported
        = codec failed LC3-SWB unsupportedCodec
        < +BCS: 2
        > AT+BCS=2
        < OK
        = connect mSBC
        ~ opened mSBC
        ~ closed
        > AT+BAC=1,3,2
        = codecs CVSD,LC3-SWB,mSBC
        < OK
        ~ connect
        < +BCS: 2
        """),
    Dialogue(
        "busy and cancelled are not the codec's fault",
        """
        slc 255 1,2
        ~ connect
        < +BCS: 2
        > AT+BCS=2
        < OK
        = connect mSBC
        ~ failed busy
        = audio failed busy
        ~ connect
        = connect mSBC
        ~ disconnect
        = disconnect
        ~ failed cancelled
        ~ connect
        = connect mSBC
        """),
    Dialogue(
        "A5: no answer: once more after 1.5 s, then CVSD, then CVSD unasked; later CVSD at once",
        """
        slc 255 1,2
        ~ connect
        < +BCS: 2
        @ 1499
        @ 1
        < +BCS: 2
        @ 1500
        = codec failed mSBC unanswered
        < +BCS: 1
        @ 999
        @ 1
        = connect CVSD
        ~ opened CVSD
        ~ closed
        ~ connect
        = connect CVSD
        """),
    Dialogue(
        "a late answer to a repeated +BCS is the same answer",
        """
        slc 255 1,2
        ~ connect
        < +BCS: 2
        @ 1500
        < +BCS: 2
        > AT+BCS=2
        < OK
        = connect mSBC
        > AT+BCS=2
        < OK
        ~ opened mSBC
        > AT+BCS=1
        < ERROR
        """),
    Dialogue(
        "A6: the wrong codec is an ERROR; asked once more, then lower",
        """
        slc 255 1,2
        > AT+BCS=2
        < ERROR
        ~ connect
        < +BCS: 2
        > AT+BCS=1
        < ERROR
        < +BCS: 2
        > AT+BCS=3
        < ERROR
        < +BCS: 1
        > AT+BCS=1
        < OK
        = connect CVSD
        """),
    Dialogue(
        "A6: a headset that never confirms CVSD gets no audio",
        """
        slc 255 1
        ~ connect
        < +BCS: 1
        > AT+BCS=2
        < ERROR
        < +BCS: 1
        > AT+BCS=2
        < ERROR
        = audio failed unanswered
        """),
    Dialogue(
        "rule 4, ACC BI-14, BV-32: the headset withdraws the codec in answer to +BCS",
        """
        slc 255 1,2
        ~ connect
        < +BCS: 2
        > AT+BAC=1
        = codecs CVSD
        < OK
        < +BCS: 1
        > AT+BCS=1
        < OK
        = connect CVSD
        """),
    Dialogue(
        "A4: another list at any time is another agreement, but not while the link is up",
        """
        slc 255 1,2
        ~ connect
        < +BCS: 2
        > AT+BCS=2
        < OK
        = connect mSBC
        ~ opened mSBC
        > AT+BAC=1
        = codecs CVSD
        < OK
        ~ closed
        ~ connect
        < +BCS: 1
        > AT+BCS=1
        < OK
        = connect CVSD
        ~ opened CVSD
        > AT+BAC=1
        = codecs CVSD
        < OK
        ~ closed
        ~ connect
        = connect CVSD
        > AT+BAC=
        < ERROR
        > AT+BAC=a
        < ERROR
        """),
    Dialogue(
        "ACC BV-09, B5: the headset opens the link: what was agreed on, else CVSD, and one link only",
        """
        slc 255 1,2
        ~ incoming
        = accept CVSD
        ~ opened CVSD
        ~ incoming
        = reject
        ~ closed
        ~ connect
        < +BCS: 2
        > AT+BCS=2
        < OK
        = connect mSBC
        ~ incoming
        = reject
        ~ opened mSBC
        ~ closed
        ~ incoming
        = accept mSBC
        ~ failed refused
        = audio failed refused
        """),
    Dialogue(
        "the policy's hint is the top rung; B2: a codec that a quirk forbids is not there",
        """
        slc 255 1,2
        ~ connect CVSD
        < +BCS: 1
        > AT+BCS=1
        < OK
        = connect CVSD
        ~ opened CVSD
        ~ closed
        ~ connect mSBC
        < +BCS: 2
        """),
    Dialogue(
        "wanted no more: the proposal is withdrawn, a link that opens all the same is closed",
        """
        slc 255 1,2
        ~ connect
        < +BCS: 2
        ~ disconnect
        @ 10000
        > AT+BCS=2
        < ERROR
        ~ connect
        < +BCS: 2
        > AT+BCS=2
        < OK
        = connect mSBC
        ~ disconnect
        = disconnect
        ~ opened mSBC
        = disconnect
        ~ connect
        ~ closed
        = connect mSBC
        """),
    Dialogue(
        "A22: +BCS waits for the reply that is due",
        """
        slc 255 1,2
        * calls 1 in incoming -
        < +CIEV: 3,1
        < RING
        > ATA
        ! answer 1
        * calls 1 in active -
        ~ connect
        @ 5000
        . ok
        < OK
        < +CIEV: 2,1
        < +CIEV: 3,0
        < +BCS: 2
        > AT+BCS=2
        < OK
        = connect mSBC
        """),
    Dialogue(
        "no negotiation here: CVSD", { $0.features.remove(.codecNegotiation) },
        """
        slc 255
        > AT+BAC=1,2
        < ERROR
        ~ connect
        = connect CVSD
        """),
]

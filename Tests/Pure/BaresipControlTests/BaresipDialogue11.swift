// swift-format-ignore-file
/// Recorded dialogues between a controller and Debian's baresip 1.1.0, without reports of RTCP.
extension BaresipDialogue {
    /// Rings, is answered, held and resumed; the far end holds it; tones, mute, hung up here.
    static let incoming11 = #"""
        > {"command":"reginfo","token":"1"}
        < {"response":true,"ok":true,"data":"\n--- User Agents (1) ---\n0 - sip:bob@127.0.0.1:16070                   \n\n","token":"1"}
        > {"command":"listcalls","token":"2"}
        < {"response":true,"ok":true,"data":"\nUser-Agent: bob@127.0.0.1\n--- Active calls (0) ---\n\n","token":"2"}
        < {"event":true,"type":"CALL_INCOMING","class":"call","accountaor":"sip:bob@127.0.0.1:16070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:16060","peerdisplayname":"Ann Ä","id":"888e149074dd7d45","remoteaudiodir":"sendrecv","param":"sip:+4930123@127.0.0.1:16060"}
        > {"command":"callfind","params":"888e149074dd7d45","token":"3"}
        < {"response":true,"ok":true,"data":"setting current call: 888e149074dd7d45\n","token":"3"}
        > {"command":"accept","token":"4"}
        < {"event":true,"type":"CALL_REMOTE_SDP","class":"other","accountaor":"sip:bob@127.0.0.1:16070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:16060","peerdisplayname":"Ann Ä","id":"888e149074dd7d45","remoteaudiodir":"sendrecv","param":"offer"}
        < {"event":true,"type":"CALL_LOCAL_SDP","class":"other","accountaor":"sip:bob@127.0.0.1:16070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:16060","peerdisplayname":"Ann Ä","id":"888e149074dd7d45","remoteaudiodir":"sendrecv","param":"answer"}
        < {"response":true,"ok":true,"data":"","token":"4"}
        < {"event":true,"type":"CALL_ESTABLISHED","class":"call","accountaor":"sip:bob@127.0.0.1:16070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:16060","peerdisplayname":"Ann Ä","id":"888e149074dd7d45","remoteaudiodir":"sendrecv","param":"sip:+4930123@127.0.0.1:16060"}
        < {"event":true,"type":"CALL_RTPESTAB","class":"other","accountaor":"sip:bob@127.0.0.1:16070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:16060","peerdisplayname":"Ann Ä","id":"888e149074dd7d45","remoteaudiodir":"sendrecv","param":"audio"}
        > {"command":"callfind","params":"888e149074dd7d45","token":"5"}
        < {"response":true,"ok":true,"data":"setting current call: 888e149074dd7d45\n","token":"5"}
        > {"command":"hold","token":"6"}
        < {"event":true,"type":"CALL_REMOTE_SDP","class":"other","accountaor":"sip:bob@127.0.0.1:16070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:16060","peerdisplayname":"Ann Ä","id":"888e149074dd7d45","remoteaudiodir":"sendrecv","param":"offer"}
        < {"response":true,"ok":true,"data":"","token":"6"}
        < {"event":true,"type":"CALL_ANSWERED","class":"call","accountaor":"sip:bob@127.0.0.1:16070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:16060","peerdisplayname":"Ann Ä","id":"888e149074dd7d45","remoteaudiodir":"sendrecv","param":"sip:+4930123@127.0.0.1:16060"}
        < {"event":true,"type":"CALL_REMOTE_SDP","class":"other","accountaor":"sip:bob@127.0.0.1:16070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:16060","peerdisplayname":"Ann Ä","id":"888e149074dd7d45","remoteaudiodir":"sendonly","param":"answer"}
        > {"command":"listcalls","token":"7"}
        < {"response":true,"ok":true,"data":"\nUser-Agent: bob@127.0.0.1\n--- Active calls (1) ---\n> [line 1, id 888e149074dd7d45]  0:00:01  ESTABLISHED  (on hold)  sip:+4930123@127.0.0.1:16060\n\n","token":"7"}
        > {"command":"callfind","params":"888e149074dd7d45","token":"8"}
        < {"response":true,"ok":true,"data":"setting current call: 888e149074dd7d45\n","token":"8"}
        > {"command":"resume","token":"9"}
        < {"event":true,"type":"CALL_REMOTE_SDP","class":"other","accountaor":"sip:bob@127.0.0.1:16070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:16060","peerdisplayname":"Ann Ä","id":"888e149074dd7d45","remoteaudiodir":"sendonly","param":"answer"}
        < {"response":true,"ok":false,"data":"Invalid argument","token":"9"}
        < {"event":true,"type":"CALL_ANSWERED","class":"call","accountaor":"sip:bob@127.0.0.1:16070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:16060","peerdisplayname":"Ann Ä","id":"888e149074dd7d45","remoteaudiodir":"sendonly","param":"sip:+4930123@127.0.0.1:16060"}
        < {"event":true,"type":"CALL_REMOTE_SDP","class":"other","accountaor":"sip:bob@127.0.0.1:16070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:16060","peerdisplayname":"Ann Ä","id":"888e149074dd7d45","remoteaudiodir":"sendrecv","param":"answer"}
        > {"command":"listcalls","token":"10"}
        < {"response":true,"ok":true,"data":"\nUser-Agent: bob@127.0.0.1\n--- Active calls (1) ---\n> [line 1, id 888e149074dd7d45]  0:00:01  ESTABLISHED             sip:+4930123@127.0.0.1:16060\n\n","token":"10"}
        > {"command":"listcalls","token":"11"}
        < {"response":true,"ok":true,"data":"\nUser-Agent: bob@127.0.0.1\n--- Active calls (1) ---\n> [line 1, id 888e149074dd7d45]  0:00:02  ESTABLISHED             sip:+4930123@127.0.0.1:16060\n\n","token":"11"}
        < {"event":true,"type":"CALL_REMOTE_SDP","class":"other","accountaor":"sip:bob@127.0.0.1:16070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:16060","peerdisplayname":"Ann Ä","id":"888e149074dd7d45","remoteaudiodir":"recvonly","param":"offer"}
        < {"event":true,"type":"CALL_REMOTE_SDP","class":"other","accountaor":"sip:bob@127.0.0.1:16070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:16060","peerdisplayname":"Ann Ä","id":"888e149074dd7d45","remoteaudiodir":"sendrecv","param":"offer"}
        > {"command":"callfind","params":"888e149074dd7d45","token":"12"}
        < {"response":true,"ok":true,"data":"setting current call: 888e149074dd7d45\n","token":"12"}
        > {"command":"sndcode","params":"5#","token":"13"}
        < {"response":true,"ok":true,"data":"","token":"13"}
        > {"command":"callfind","params":"888e149074dd7d45","token":"14"}
        < {"response":true,"ok":true,"data":"setting current call: 888e149074dd7d45\n","token":"14"}
        > {"command":"mute","token":"15"}
        < {"response":true,"ok":true,"data":"\ncall muted\n","token":"15"}
        > {"command":"callfind","params":"888e149074dd7d45","token":"16"}
        < {"response":true,"ok":true,"data":"setting current call: 888e149074dd7d45\n","token":"16"}
        > {"command":"hangup","token":"17"}
        < {"event":true,"type":"CALL_CLOSED","class":"call","accountaor":"sip:bob@127.0.0.1:16070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:16060","peerdisplayname":"Ann Ä","id":"888e149074dd7d45","remoteaudiodir":"sendrecv","param":"Connection reset by user"}
        < {"response":true,"ok":true,"data":"","token":"17"}
        """#

    /// Rings there, is answered and ends there.
    static let outgoing11 = #"""
        > {"command":"reginfo","token":"1"}
        < {"response":true,"ok":true,"data":"\n--- User Agents (1) ---\n0 - sip:bob@127.0.0.1:16070                   \n\n","token":"1"}
        > {"command":"listcalls","token":"2"}
        < {"response":true,"ok":true,"data":"\nUser-Agent: bob@127.0.0.1\n--- Active calls (0) ---\n\n","token":"2"}
        > {"command":"dial","params":"sip:+4930123@127.0.0.1:16060","token":"3"}
        < {"event":true,"type":"CALL_LOCAL_SDP","class":"other","accountaor":"sip:bob@127.0.0.1:16070","direction":"outgoing","peeruri":"sip:+4930123@127.0.0.1:16060","remoteaudiodir":"sendrecv","param":"offer"}
        < {"response":true,"ok":true,"data":"call id: b43f97db6d1dd055\n","token":"3"}
        < {"event":true,"type":"CALL_RINGING","class":"call","accountaor":"sip:bob@127.0.0.1:16070","direction":"outgoing","peeruri":"sip:+4930123@127.0.0.1:16060","id":"b43f97db6d1dd055","remoteaudiodir":"sendrecv","param":"sip:+4930123@127.0.0.1:16060"}
        < {"event":true,"type":"CALL_ANSWERED","class":"call","accountaor":"sip:bob@127.0.0.1:16070","direction":"outgoing","peeruri":"sip:+4930123@127.0.0.1:16060","id":"b43f97db6d1dd055","remoteaudiodir":"sendrecv","param":"sip:+4930123@127.0.0.1:16060"}
        < {"event":true,"type":"CALL_REMOTE_SDP","class":"other","accountaor":"sip:bob@127.0.0.1:16070","direction":"outgoing","peeruri":"sip:+4930123@127.0.0.1:16060","id":"b43f97db6d1dd055","remoteaudiodir":"sendrecv","param":"answer"}
        < {"event":true,"type":"CALL_ESTABLISHED","class":"call","accountaor":"sip:bob@127.0.0.1:16070","direction":"outgoing","peeruri":"sip:+4930123@127.0.0.1:16060","id":"b43f97db6d1dd055","remoteaudiodir":"sendrecv","param":"sip:+4930123@127.0.0.1:16060"}
        < {"event":true,"type":"CALL_RTPESTAB","class":"other","accountaor":"sip:bob@127.0.0.1:16070","direction":"outgoing","peeruri":"sip:+4930123@127.0.0.1:16060","id":"b43f97db6d1dd055","remoteaudiodir":"sendrecv","param":"audio"}
        < {"event":true,"type":"CALL_CLOSED","class":"call","accountaor":"sip:bob@127.0.0.1:16070","direction":"outgoing","peeruri":"sip:+4930123@127.0.0.1:16060","id":"b43f97db6d1dd055","remoteaudiodir":"sendrecv","param":"Connection reset by peer"}
        """#

    /// Connects with a call in each of two accounts; the held one is resumed, and the other one ends.
    static let running11 = #"""
        > {"command":"reginfo","token":"1"}
        < {"response":true,"ok":true,"data":"\n--- User Agents (2) ---\n0 - sip:bob@127.0.0.1:16070                   \n1 - sip:work@127.0.0.1:16070                  \n\n","token":"1"}
        > {"command":"listcalls","token":"2"}
        < {"response":true,"ok":true,"data":"\nUser-Agent: bob@127.0.0.1\n--- Active calls (1) ---\n> [line 1, id f5d2d0e95be76905]  0:00:03  ESTABLISHED  (on hold)  sip:+4930123@127.0.0.1:16060\n\n\nUser-Agent: work@127.0.0.1\n--- Active calls (1) ---\n> [line 1, id 27714eb64bcf31ef]  0:00:01  ESTABLISHED             sip:carol@127.0.0.1:16080\n\n","token":"2"}
        > {"command":"callfind","params":"f5d2d0e95be76905","token":"3"}
        < {"response":true,"ok":true,"data":"setting current call: f5d2d0e95be76905\n","token":"3"}
        > {"command":"callstat","token":"4"}
        < {"response":true,"ok":true,"data":"\n===== Call debug (ESTABLISHED) =====\n local_uri: Bob <sip:bob@127.0.0.1:16070>\n peer_uri:  Ann Ä <sip:+4930123@127.0.0.1:16060>\n af=AF_INET id=f5d2d0e95be76905\n autoanswer delay: -1\n direction: Incoming\nSDP session\n  local attributes:\n  remote attributes:\nsession media:\naudio RTP\/AVP\n  local formats:\n      0 PCMU\/8000\/1 () *\n      8 PCMA\/8000\/1 () *\n    101 telephone-event\/8000\/1 (0-15) *\n  remote formats:\n      0 PCMU\/8000\/1 *\n      8 PCMA\/8000\/1 *\n    101 telephone-event\/8000\/1 (0-15) *\n  local attributes:\n    label='1'\n    ssrc='641817013 cname:sip:bob@127.0.0.1:16070'\n    minptime='20'\n    ptime='20'\n  remote attributes:\n    label='1'\n    rtcp-rsize\n    ssrc='2882334150 cname:sip:+4930123@127.0.0.1:16060'\n    minptime='20'\n    ptime='20'\nlocal media:\n\n","token":"4"}
        > {"command":"callfind","params":"27714eb64bcf31ef","token":"5"}
        < {"response":true,"ok":true,"data":"setting current call: 27714eb64bcf31ef\n","token":"5"}
        > {"command":"callstat","token":"6"}
        < {"response":true,"ok":true,"data":"\n===== Call debug (ESTABLISHED) =====\n local_uri: Work <sip:work@127.0.0.1:16070>\n peer_uri:   <sip:carol@127.0.0.1:16080>\n af=AF_INET id=27714eb64bcf31ef\n autoanswer delay: -1\n direction: Incoming\nSDP session\n  local attributes:\n  remote attributes:\nsession media:\naudio RTP\/AVP\n  local formats:\n      0 PCMU\/8000\/1 () *\n      8 PCMA\/8000\/1 () *\n    101 telephone-event\/8000\/1 (0-15) *\n  remote formats:\n      0 PCMU\/8000\/1 *\n      8 PCMA\/8000\/1 *\n    101 telephone-event\/8000\/1 (0-15) *\n  local attributes:\n    label='1'\n    ssrc='262063021 cname:sip:work@127.0.0.1:16070'\n    minptime='20'\n    ptime='20'\n  remote attributes:\n    label='1'\n    rtcp-rsize\n    ssrc='2415007121 cname:sip:carol@127.0.0.1:16080'\n    minptime='20'\n    ptime='20'\nlocal media:\n\n","token":"6"}
        > {"command":"callfind","params":"f5d2d0e95be76905","token":"7"}
        < {"response":true,"ok":true,"data":"setting current call: f5d2d0e95be76905\n","token":"7"}
        > {"command":"callfind","params":"f5d2d0e95be76905","token":"8"}
        < {"response":true,"ok":true,"data":"setting current call: f5d2d0e95be76905\n","token":"8"}
        > {"command":"resume","token":"9"}
        < {"event":true,"type":"CALL_REMOTE_SDP","class":"other","accountaor":"sip:work@127.0.0.1:16070","direction":"incoming","peeruri":"sip:carol@127.0.0.1:16080","id":"27714eb64bcf31ef","remoteaudiodir":"sendrecv","param":"offer"}
        < {"event":true,"type":"CALL_REMOTE_SDP","class":"other","accountaor":"sip:bob@127.0.0.1:16070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:16060","peerdisplayname":"Ann Ä","id":"f5d2d0e95be76905","remoteaudiodir":"sendonly","param":"answer"}
        < {"response":true,"ok":true,"data":"","token":"9"}
        < {"event":true,"type":"CALL_ANSWERED","class":"call","accountaor":"sip:bob@127.0.0.1:16070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:16060","peerdisplayname":"Ann Ä","id":"f5d2d0e95be76905","remoteaudiodir":"sendonly","param":"sip:+4930123@127.0.0.1:16060"}
        < {"event":true,"type":"CALL_REMOTE_SDP","class":"other","accountaor":"sip:bob@127.0.0.1:16070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:16060","peerdisplayname":"Ann Ä","id":"f5d2d0e95be76905","remoteaudiodir":"sendrecv","param":"answer"}
        < {"event":true,"type":"CALL_ANSWERED","class":"call","accountaor":"sip:work@127.0.0.1:16070","direction":"incoming","peeruri":"sip:carol@127.0.0.1:16080","id":"27714eb64bcf31ef","remoteaudiodir":"sendrecv","param":"sip:carol@127.0.0.1:16080"}
        < {"event":true,"type":"CALL_REMOTE_SDP","class":"other","accountaor":"sip:work@127.0.0.1:16070","direction":"incoming","peeruri":"sip:carol@127.0.0.1:16080","id":"27714eb64bcf31ef","remoteaudiodir":"sendonly","param":"answer"}
        > {"command":"listcalls","token":"10"}
        < {"response":true,"ok":true,"data":"\nUser-Agent: bob@127.0.0.1\n--- Active calls (1) ---\n> [line 1, id f5d2d0e95be76905]  0:00:04  ESTABLISHED             sip:+4930123@127.0.0.1:16060\n\n\nUser-Agent: work@127.0.0.1\n--- Active calls (1) ---\n> [line 1, id 27714eb64bcf31ef]  0:00:02  ESTABLISHED  (on hold)  sip:carol@127.0.0.1:16080\n\n","token":"10"}
        < {"event":true,"type":"CALL_CLOSED","class":"call","accountaor":"sip:work@127.0.0.1:16070","direction":"incoming","peeruri":"sip:carol@127.0.0.1:16080","id":"27714eb64bcf31ef","remoteaudiodir":"sendonly","param":"Connection reset by peer"}
        """#
}

// swift-format-ignore-file
/// Recorded dialogues between a controller and Debian's baresip 1.0.0: `>` to baresip, `<` from it. Reports of RTCP after
/// the first are left out.
enum BaresipDialogue {
    /// Rings, is answered, held and resumed; the far end holds it; tones, mute, hung up here.
    static let incoming = #"""
        > {"command":"reginfo","token":"1"}
        < {"response":true,"ok":true,"data":"\n--- User Agents (1) ---\n> sip:bob@127.0.0.1:15070                   \n\n","token":"1"}
        > {"command":"listcalls","token":"2"}
        < {"response":true,"ok":true,"data":"\n--- Active calls (0) ---\n\n","token":"2"}
        < {"event":true,"type":"CALL_INCOMING","class":"call","accountaor":"sip:bob@127.0.0.1:15070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:15060","peerdisplayname":"Ann Ä","id":"8def2da3cfd89f16","param":"sip:+4930123@127.0.0.1:15060"}
        > {"command":"callfind","params":"8def2da3cfd89f16","token":"3"}
        < {"response":true,"ok":true,"data":"setting current call: 8def2da3cfd89f16\n","token":"3"}
        > {"command":"accept","token":"4"}
        < {"event":true,"type":"CALL_REMOTE_SDP","class":"other","accountaor":"sip:bob@127.0.0.1:15070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:15060","peerdisplayname":"Ann Ä","id":"8def2da3cfd89f16","param":"offer"}
        < {"event":true,"type":"CALL_LOCAL_SDP","class":"other","accountaor":"sip:bob@127.0.0.1:15070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:15060","peerdisplayname":"Ann Ä","id":"8def2da3cfd89f16","param":"answer"}
        < {"response":true,"ok":true,"data":"sip:bob@127.0.0.1:15070: Answering incoming call\n","token":"4"}
        < {"event":true,"type":"CALL_RTCP","class":"call","accountaor":"sip:bob@127.0.0.1:15070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:15060","peerdisplayname":"Ann Ä","id":"8def2da3cfd89f16","param":"audio","rtcp_stats":{"tx":{"sent":0,"lost":0,"jit":0},"rx":{"sent":0,"lost":0,"jit":0},"rtt":0}}
        < {"event":true,"type":"CALL_ESTABLISHED","class":"call","accountaor":"sip:bob@127.0.0.1:15070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:15060","peerdisplayname":"Ann Ä","id":"8def2da3cfd89f16","param":"sip:+4930123@127.0.0.1:15060"}
        < {"event":true,"type":"CALL_RTPESTAB","class":"other","accountaor":"sip:bob@127.0.0.1:15070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:15060","peerdisplayname":"Ann Ä","id":"8def2da3cfd89f16","param":"audio"}
        > {"command":"callfind","params":"8def2da3cfd89f16","token":"5"}
        < {"response":true,"ok":true,"data":"setting current call: 8def2da3cfd89f16\n","token":"5"}
        > {"command":"hold","token":"6"}
        < {"response":true,"ok":true,"data":"","token":"6"}
        < {"event":true,"type":"CALL_REMOTE_SDP","class":"other","accountaor":"sip:bob@127.0.0.1:15070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:15060","peerdisplayname":"Ann Ä","id":"8def2da3cfd89f16","param":"answer"}
        > {"command":"listcalls","token":"7"}
        < {"response":true,"ok":true,"data":"\n--- Active calls (1) ---\n> [line 1]  0:00:01  ESTABLISHED  (on hold)  sip:+4930123@127.0.0.1:15060\n\n","token":"7"}
        < {"event":true,"type":"CALL_REMOTE_SDP","class":"other","accountaor":"sip:bob@127.0.0.1:15070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:15060","peerdisplayname":"Ann Ä","id":"8def2da3cfd89f16","param":"offer"}
        > {"command":"callfind","params":"8def2da3cfd89f16","token":"8"}
        < {"response":true,"ok":true,"data":"setting current call: 8def2da3cfd89f16\n","token":"8"}
        > {"command":"resume","token":"9"}
        < {"response":true,"ok":true,"data":"","token":"9"}
        < {"event":true,"type":"CALL_REMOTE_SDP","class":"other","accountaor":"sip:bob@127.0.0.1:15070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:15060","peerdisplayname":"Ann Ä","id":"8def2da3cfd89f16","param":"answer"}
        > {"command":"listcalls","token":"10"}
        < {"response":true,"ok":true,"data":"\n--- Active calls (1) ---\n> [line 1]  0:00:02  ESTABLISHED             sip:+4930123@127.0.0.1:15060\n\n","token":"10"}
        > {"command":"callfind","params":"8def2da3cfd89f16","token":"11"}
        < {"response":true,"ok":true,"data":"setting current call: 8def2da3cfd89f16\n","token":"11"}
        > {"command":"sndcode","params":"5#","token":"12"}
        < {"response":true,"ok":true,"data":"","token":"12"}
        > {"command":"callfind","params":"8def2da3cfd89f16","token":"13"}
        < {"response":true,"ok":true,"data":"setting current call: 8def2da3cfd89f16\n","token":"13"}
        > {"command":"mute","token":"14"}
        < {"response":true,"ok":true,"data":"\ncall muted\n","token":"14"}
        > {"command":"callfind","params":"8def2da3cfd89f16","token":"15"}
        < {"response":true,"ok":true,"data":"setting current call: 8def2da3cfd89f16\n","token":"15"}
        > {"command":"hangup","token":"16"}
        < {"event":true,"type":"CALL_CLOSED","class":"call","accountaor":"sip:bob@127.0.0.1:15070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:15060","peerdisplayname":"Ann Ä","id":"8def2da3cfd89f16","param":"Connection reset by user"}
        < {"response":true,"ok":true,"data":"","token":"16"}
        """#

    /// Rings there, is answered and ends there; then a number that does not exist.
    static let outgoing = #"""
        > {"command":"reginfo","token":"1"}
        < {"response":true,"ok":true,"data":"\n--- User Agents (1) ---\n> sip:+4930123@127.0.0.1:15060              \n\n","token":"1"}
        > {"command":"listcalls","token":"2"}
        < {"response":true,"ok":true,"data":"\n--- Active calls (0) ---\n\n","token":"2"}
        > {"command":"dial","params":"sip:bob@127.0.0.1:15070","token":"3"}
        < {"event":true,"type":"CALL_LOCAL_SDP","class":"other","accountaor":"sip:+4930123@127.0.0.1:15060","direction":"outgoing","peeruri":"sip:bob@127.0.0.1:15070","param":"offer"}
        < {"response":true,"ok":true,"data":"","token":"3"}
        < {"event":true,"type":"CALL_RINGING","class":"call","accountaor":"sip:+4930123@127.0.0.1:15060","direction":"outgoing","peeruri":"sip:bob@127.0.0.1:15070","id":"f7e2e2501a9c095b","param":"sip:bob@127.0.0.1:15070"}
        < {"event":true,"type":"CALL_RTCP","class":"call","accountaor":"sip:+4930123@127.0.0.1:15060","direction":"outgoing","peeruri":"sip:bob@127.0.0.1:15070","id":"f7e2e2501a9c095b","param":"audio","rtcp_stats":{"tx":{"sent":0,"lost":0,"jit":0},"rx":{"sent":0,"lost":0,"jit":0},"rtt":0}}
        < {"event":true,"type":"CALL_REMOTE_SDP","class":"other","accountaor":"sip:+4930123@127.0.0.1:15060","direction":"outgoing","peeruri":"sip:bob@127.0.0.1:15070","id":"f7e2e2501a9c095b","param":"answer"}
        < {"event":true,"type":"CALL_ESTABLISHED","class":"call","accountaor":"sip:+4930123@127.0.0.1:15060","direction":"outgoing","peeruri":"sip:bob@127.0.0.1:15070","id":"f7e2e2501a9c095b","param":"sip:bob@127.0.0.1:15070"}
        < {"event":true,"type":"CALL_RTPESTAB","class":"other","accountaor":"sip:+4930123@127.0.0.1:15060","direction":"outgoing","peeruri":"sip:bob@127.0.0.1:15070","id":"f7e2e2501a9c095b","param":"audio"}
        < {"event":true,"type":"CALL_CLOSED","class":"call","accountaor":"sip:+4930123@127.0.0.1:15060","direction":"outgoing","peeruri":"sip:bob@127.0.0.1:15070","id":"f7e2e2501a9c095b","param":"Connection reset by peer"}
        > {"command":"dial","params":"nobody","token":"4"}
        < {"event":true,"type":"CALL_LOCAL_SDP","class":"other","accountaor":"sip:+4930123@127.0.0.1:15060","direction":"outgoing","peeruri":"sip:nobody@127.0.0.1:15060","param":"offer"}
        < {"response":true,"ok":true,"data":"","token":"4"}
        < {"event":true,"type":"CALL_CLOSED","class":"call","accountaor":"sip:+4930123@127.0.0.1:15060","direction":"outgoing","peeruri":"sip:nobody@127.0.0.1:15060","id":"b6c654b50b92d617","param":"404 Not Found"}
        """#

    /// Answers a second call, which holds the first one.
    static let second = #"""
        > {"command":"reginfo","token":"1"}
        < {"response":true,"ok":true,"data":"\n--- User Agents (1) ---\n> sip:bob@127.0.0.1:15070                   \n\n","token":"1"}
        > {"command":"listcalls","token":"2"}
        < {"response":true,"ok":true,"data":"\n--- Active calls (0) ---\n\n","token":"2"}
        < {"event":true,"type":"CALL_INCOMING","class":"call","accountaor":"sip:bob@127.0.0.1:15070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:15060","peerdisplayname":"Ann Ä","id":"9eac74ab15ac8506","param":"sip:+4930123@127.0.0.1:15060"}
        > {"command":"callfind","params":"9eac74ab15ac8506","token":"3"}
        < {"response":true,"ok":true,"data":"setting current call: 9eac74ab15ac8506\n","token":"3"}
        > {"command":"accept","token":"4"}
        < {"event":true,"type":"CALL_REMOTE_SDP","class":"other","accountaor":"sip:bob@127.0.0.1:15070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:15060","peerdisplayname":"Ann Ä","id":"9eac74ab15ac8506","param":"offer"}
        < {"event":true,"type":"CALL_LOCAL_SDP","class":"other","accountaor":"sip:bob@127.0.0.1:15070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:15060","peerdisplayname":"Ann Ä","id":"9eac74ab15ac8506","param":"answer"}
        < {"response":true,"ok":true,"data":"sip:bob@127.0.0.1:15070: Answering incoming call\n","token":"4"}
        < {"event":true,"type":"CALL_RTCP","class":"call","accountaor":"sip:bob@127.0.0.1:15070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:15060","peerdisplayname":"Ann Ä","id":"9eac74ab15ac8506","param":"audio","rtcp_stats":{"tx":{"sent":0,"lost":0,"jit":0},"rx":{"sent":0,"lost":0,"jit":0},"rtt":0}}
        < {"event":true,"type":"CALL_ESTABLISHED","class":"call","accountaor":"sip:bob@127.0.0.1:15070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:15060","peerdisplayname":"Ann Ä","id":"9eac74ab15ac8506","param":"sip:+4930123@127.0.0.1:15060"}
        < {"event":true,"type":"CALL_RTPESTAB","class":"other","accountaor":"sip:bob@127.0.0.1:15070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:15060","peerdisplayname":"Ann Ä","id":"9eac74ab15ac8506","param":"audio"}
        < {"event":true,"type":"CALL_INCOMING","class":"call","accountaor":"sip:bob@127.0.0.1:15070","direction":"incoming","peeruri":"sip:carol@127.0.0.1:15080","peerdisplayname":"carol","id":"d6025f53a7e942de","param":"sip:carol@127.0.0.1:15080"}
        > {"command":"callfind","params":"d6025f53a7e942de","token":"5"}
        < {"response":true,"ok":true,"data":"setting current call: d6025f53a7e942de\n","token":"5"}
        > {"command":"accept","token":"6"}
        < {"event":true,"type":"CALL_REMOTE_SDP","class":"other","accountaor":"sip:bob@127.0.0.1:15070","direction":"incoming","peeruri":"sip:carol@127.0.0.1:15080","peerdisplayname":"carol","id":"d6025f53a7e942de","param":"offer"}
        < {"event":true,"type":"CALL_LOCAL_SDP","class":"other","accountaor":"sip:bob@127.0.0.1:15070","direction":"incoming","peeruri":"sip:carol@127.0.0.1:15080","peerdisplayname":"carol","id":"d6025f53a7e942de","param":"answer"}
        < {"response":true,"ok":true,"data":"sip:bob@127.0.0.1:15070: Answering incoming call\n","token":"6"}
        < {"event":true,"type":"CALL_REMOTE_SDP","class":"other","accountaor":"sip:bob@127.0.0.1:15070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:15060","peerdisplayname":"Ann Ä","id":"9eac74ab15ac8506","param":"answer"}
        < {"event":true,"type":"CALL_ESTABLISHED","class":"call","accountaor":"sip:bob@127.0.0.1:15070","direction":"incoming","peeruri":"sip:carol@127.0.0.1:15080","peerdisplayname":"carol","id":"d6025f53a7e942de","param":"sip:carol@127.0.0.1:15080"}
        < {"event":true,"type":"CALL_RTPESTAB","class":"other","accountaor":"sip:bob@127.0.0.1:15070","direction":"incoming","peeruri":"sip:carol@127.0.0.1:15080","peerdisplayname":"carol","id":"d6025f53a7e942de","param":"audio"}
        > {"command":"listcalls","token":"7"}
        < {"response":true,"ok":true,"data":"\n--- Active calls (2) ---\n  [line 1]  0:00:01  ESTABLISHED  (on hold)  sip:+4930123@127.0.0.1:15060\n> [line 2]  0:00:00  ESTABLISHED             sip:carol@127.0.0.1:15080\n\n","token":"7"}
        """#

    /// Connects with two calls up; one ends, baresip resumes the other, and quits.
    static let running = #"""
        > {"command":"reginfo","token":"1"}
        < {"response":true,"ok":true,"data":"\n--- User Agents (1) ---\n> sip:bob@127.0.0.1:15070                   \n\n","token":"1"}
        > {"command":"listcalls","token":"2"}
        < {"response":true,"ok":true,"data":"\n--- Active calls (2) ---\n  [line 1]  0:00:02  ESTABLISHED  (on hold)  sip:+4930123@127.0.0.1:15060\n> [line 2]  0:00:01  ESTABLISHED             sip:carol@127.0.0.1:15080\n\n","token":"2"}
        > {"command":"line","params":"1","token":"3"}
        < {"response":true,"ok":true,"data":"setting current call: line 1\n","token":"3"}
        > {"command":"callstat","token":"4"}
        < {"response":true,"ok":true,"data":"\n===== Call debug (ESTABLISHED) =====\n local_uri:  <sip:bob@127.0.0.1:15070>\n peer_uri:  Ann Ä <sip:+4930123@127.0.0.1:15060>\n af=AF_INET id=9eac74ab15ac8506\n direction: Incoming\nSDP session\n  local attributes:\n    tool='baresip 1.0.0'\n  remote attributes:\n    tool='baresip 1.0.0'\nsession media:\naudio RTP\/AVP\n  local formats:\n      0 PCMU\/8000\/1 () *\n      8 PCMA\/8000\/1 () *\n    101 telephone-event\/8000\/1 (0-15) *\n  remote formats:\n      0 PCMU\/8000\/1 *\n      8 PCMA\/8000\/1 *\n    101 telephone-event\/8000\/1 (0-15) *\n  local attributes:\n    label='1'\n    ssrc='2214461084 cname:sip:bob@127.0.0.1:15070'\n    minptime='20'\n    ptime='20'\n  remote attributes:\n    label='1'\n    rtcp-rsize\n    ssrc='475513631 cname:sip:+4930123@127.0.0.1:15060'\n    minptime='20'\n    ptime='20'\nlocal media:\n\n","token":"4"}
        > {"command":"line","params":"2","token":"5"}
        < {"response":true,"ok":true,"data":"setting current call: line 2\n","token":"5"}
        > {"command":"callstat","token":"6"}
        < {"response":true,"ok":true,"data":"\n===== Call debug (ESTABLISHED) =====\n local_uri:  <sip:bob@127.0.0.1:15070>\n peer_uri:  carol <sip:carol@127.0.0.1:15080>\n af=AF_INET id=d6025f53a7e942de\n direction: Incoming\nSDP session\n  local attributes:\n    tool='baresip 1.0.0'\n  remote attributes:\n    tool='baresip 1.0.0'\nsession media:\naudio RTP\/AVP\n  local formats:\n      0 PCMU\/8000\/1 () *\n      8 PCMA\/8000\/1 () *\n    101 telephone-event\/8000\/1 (0-15) *\n  remote formats:\n      0 PCMU\/8000\/1 *\n      8 PCMA\/8000\/1 *\n    101 telephone-event\/8000\/1 (0-15) *\n  local attributes:\n    label='1'\n    ssrc='242178210 cname:sip:bob@127.0.0.1:15070'\n    minptime='20'\n    ptime='20'\n  remote attributes:\n    label='1'\n    rtcp-rsize\n    ssrc='2894709051 cname:sip:carol@127.0.0.1:15080'\n    minptime='20'\n    ptime='20'\nlocal media:\n\n","token":"6"}
        > {"command":"line","params":"2","token":"7"}
        < {"response":true,"ok":true,"data":"setting current call: line 2\n","token":"7"}
        < {"event":true,"type":"CALL_CLOSED","class":"call","accountaor":"sip:bob@127.0.0.1:15070","direction":"incoming","peeruri":"sip:carol@127.0.0.1:15080","peerdisplayname":"carol","id":"d6025f53a7e942de","param":"Connection reset by peer"}
        < {"event":true,"type":"CALL_RTCP","class":"call","accountaor":"sip:bob@127.0.0.1:15070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:15060","peerdisplayname":"Ann Ä","id":"9eac74ab15ac8506","param":"audio","rtcp_stats":{"tx":{"sent":0,"lost":0,"jit":0},"rx":{"sent":0,"lost":0,"jit":0},"rtt":0}}
        < {"event":true,"type":"CALL_REMOTE_SDP","class":"other","accountaor":"sip:bob@127.0.0.1:15070","direction":"incoming","peeruri":"sip:+4930123@127.0.0.1:15060","peerdisplayname":"Ann Ä","id":"9eac74ab15ac8506","param":"answer"}
        < {"event":true,"type":"SHUTDOWN","class":"application","accountaor":"sip:bob@127.0.0.1:15070"}
        < {"event":true,"type":"EXIT","class":"application"}
        """#
}

"""A virtual headset: Bumble's host stack on a RootCanal controller, with what a test wants to know about it.

Commands arrive as words (see README.md, "Headset commands"); each answers with something that JSON can hold.
"""
import array
import asyncio
import os
import wave

from bumble import a2dp, avrcp, core, hci, hfp, rfcomm, sdp
from bumble.device import Device, DeviceConfiguration
from bumble.keys import MemoryKeyStore, PairingKeys
from bumble.pairing import PairingConfig, PairingDelegate

import counted
import music
import power
import radio
import talk
import voice
from clock import lab_time, say

GUEST = "00:1B:DC:07:00:01"
PACKET_SECONDS = 0.0075
UNAUTHENTICATED_P256 = 7                               # type of link key that two sides without a display agree on
CODECS = {"cvsd": hfp.AudioCodec.CVSD, "msbc": hfp.AudioCodec.MSBC}

# Features of a hands-free unit by profile version: version in the service record, +BRSF.
F = hfp.HfFeature
HFP_1_5 = [F.EC_NR, F.THREE_WAY_CALLING, F.CLI_PRESENTATION_CAPABILITY, F.VOICE_RECOGNITION_ACTIVATION,
           F.REMOTE_VOLUME_CONTROL, F.ENHANCED_CALL_STATUS]
PROFILES = {
    "minimal": (hfp.ProfileVersion.V1_5, []),
    "hsp": (hfp.ProfileVersion.V1_5, []),                     # no Hands-Free record: the Headset Profile is all it has for calls
    "a2dp": (hfp.ProfileVersion.V1_5, []),                    # for music only
    "1.5": (hfp.ProfileVersion.V1_5, HFP_1_5),
    "1.6": (hfp.ProfileVersion.V1_6, HFP_1_5 + [F.CODEC_NEGOTIATION]),
    "1.7": (hfp.ProfileVersion.V1_7, HFP_1_5 + [F.CODEC_NEGOTIATION, F.HF_INDICATORS, F.ESCO_S4_SETTINGS_SUPPORTED]),
    "1.8": (hfp.ProfileVersion.V1_8, HFP_1_5 + [F.CODEC_NEGOTIATION, F.HF_INDICATORS, F.ESCO_S4_SETTINGS_SUPPORTED]),
}
PROFILES["hfp"] = PROFILES["1.8"]                              # for calls only: no A2DP and no AVRCP


class Take:
    """Audio of one synchronous connection, with times (lab time)."""

    def __init__(self, number, codec):
        self.number, self.codec, self.rate = number, codec, 16000 if codec == "msbc" else 8000
        self.opened, self.closed = lab_time(), None
        self.heard, self.times = bytearray(), []             # PCM; (first sample of a packet, time of receipt)
        self.said, self.said_times = bytearray(), []         # PCM; (sample after a packet, time of sending)
        self.rx_bytes = self.rx_packets = self.tx_packets = self.tx_late = 0
        self.rx_first = self.rx_last = self.tx_first = self.tx_last = None
        self.rx_gaps = []

    def received(self, pcm, size):
        now = lab_time()
        if self.rx_last is None:
            self.rx_first = now
        else:
            self.rx_gaps.append(now - self.rx_last)
        self.rx_last = now
        self.rx_packets += 1
        self.rx_bytes += size
        if pcm:
            self.times.append((len(self.heard) // 2, now))
            self.heard += pcm

    def sent(self, pcm, late):
        self.tx_last = lab_time()
        self.said += pcm
        self.said_times.append((len(self.said) // 2, self.tx_last))
        self.tx_first = self.tx_first or self.tx_last
        self.tx_packets += 1
        self.tx_late += late

    def write(self, path, heard=True):
        """Writes the headset's audio, or its microphone's, as WAV, with its times beside it."""
        pcm, times = (self.heard, self.times) if heard else (self.said, self.said_times)
        with wave.open(path, "wb") as w:
            w.setnchannels(1)
            w.setsampwidth(2)
            w.setframerate(self.rate)
            w.writeframes(bytes(pcm))
        with open((path[:-4] if path.endswith(".wav") else path) + ".times", "w") as f:
            f.write("# clock lab\n# mode arrival\n")
            f.writelines(f"{sample} {time:.6f}\n" for sample, time in times)
        begin, end = (self.rx_first, self.rx_last) if heard else (self.tx_first, self.tx_last)
        return {"file": os.path.basename(path), "take": self.number, "codec": self.codec, "rate": self.rate,
                "seconds": round(len(pcm) / 2 / self.rate, 3), "begin": begin, "end": end}

    def summary(self):
        return {"take": self.number, "codec": self.codec, "opened": self.opened, "closed": self.closed,
                "rx_packets": self.rx_packets, "tx_packets": self.tx_packets, "rx_first": self.rx_first,
                "rx_last": self.rx_last, "tx_first": self.tx_first, "tx_last": self.tx_last,
                "seconds": round(len(self.heard) / 2 / self.rate, 3)}


class Port:
    """Bumble's transport source and sink, straight onto a radio.Controller."""

    def __init__(self, air, address):
        self.sink = None
        self.terminated = asyncio.get_running_loop().create_future()
        self.controller = air.add(address, self._from_controller)

    def set_packet_sink(self, sink):
        self.sink = sink

    def _from_controller(self, packet):
        if self.sink:
            try:
                self.sink.on_packet(packet)
            except Exception as e:                                   # a headset must survive one odd packet
                say("bumble:", repr(e))

    def on_packet(self, packet):                                     # from the Bumble host
        self.controller.from_host(packet)


class Hf(hfp.HfProtocol):
    """Bumble's hands-free that records its AT traffic and reports an event when the SLC is established."""

    def __init__(self, dlc, configuration, owner):
        super().__init__(dlc, configuration)
        self.owner = owner
        inner = self._read_at

        def heard(data):
            for line in data.replace(b"\r\n", b"\r").split(b"\r"):
                if line:
                    owner.note("at-rx", line.decode(errors="replace"))
            inner(data)
        dlc.sink = heard
        write = dlc.write

        def said(data):
            owner.note("at-tx", (data if isinstance(data, str) else data.decode()).strip())
            write(data)
        dlc.write = said
        self.on(self.EVENT_AG_INDICATOR, lambda i: owner.note("indicator", f"{i.indicator.value}={i.current_status}"))
        self.on(self.EVENT_CODEC_NEGOTIATION, lambda c: owner.note("codec", c.name))
        self.on(self.EVENT_SPEAKER_VOLUME, lambda v: owner.note("vgs", v))
        self.on(self.EVENT_MICROPHONE_VOLUME, lambda v: owner.note("vgm", v))
        self.on(self.EVENT_RING, lambda: owner.note("ring", ""))

    async def execute_command(self, cmd, timeout=10.0, response_type=hfp.AtResponseType.NONE):
        # Bumble's 1 s is too short in an emulated guest.
        return await super().execute_command(cmd, max(timeout, 10.0), response_type)

    async def initiate_slc(self):
        # Over the air the gateway's kernel has long finished accept() when the first command arrives. Here the command could
        # overtake it: 6.1's rfcomm_dlc_accept() answers before it marks the channel connected, and drops data until then.
        await asyncio.sleep(0.05)
        await super().initiate_slc()
        # Headset and gateway may have connected to each other at once: the connection that came up counts.
        self.owner.hf = self
        for extra in self.owner.after_slc:
            try:
                await self.execute_command(extra, response_type=hfp.AtResponseType.MULTIPLE)
            except Exception as e:
                self.owner.note("at-refused", f"{extra}: {e!r}")
        self.owner.note("slc", "")

    async def setup_codec_connection(self, codec_id):
        self.owner.note("bcs", codec_id)
        if self.owner.codec_answer == "never":
            return
        if self.owner.codec_answer == "wrong" and codec_id != int(hfp.AudioCodec.CVSD):
            try:
                await self.execute_command(f"AT+BCS={int(hfp.AudioCodec.CVSD)}")
            except Exception as e:
                self.owner.note("at-refused", repr(e))
            return
        # Bumble answers AT+BAC=<names>; answer with numbers.
        if codec_id not in [int(c) for c in self.supported_audio_codecs]:
            await self.execute_command("AT+BAC=" + ",".join(str(int(c)) for c in self.supported_audio_codecs))
            return
        # The AG may open SCO before its OK arrives: set the codec first.
        self.active_codec = hfp.AudioCodec(codec_id)
        await super().setup_codec_connection(codec_id)


class Headset(power.Powered):
    def __init__(self, lab, name, address, codecs, profile="1.8"):
        super().__init__(lab, name)
        self.address = address
        self.keystore = MemoryKeyStore()
        self.codecs, self.profile = codecs, profile            # both count from the next power on
        self.after_slc = ["AT+CLIP=1", "AT+CCWA=1"]
        self.hf = None
        self.sco, self.sco_codec, self.sco_task = None, None, None
        self.link_life = None                                   # seconds after which it closes its link itself
        self.codec_answer = "right"                             # answer to +BCS: right|wrong|never
        self.refusals, self.refusal = 0, 0x0E                   # number of links to refuse from now on, and the reason
        self.hs_dlc = None
        self.forced = None                                      # codec regardless of HFP's choice: bare SCO
        self.mic, self.echo = ("silence",), bytearray()
        self.takes = []
        self.pulse_from = self.pulse_at = None
        self.music = music.Sink(self)
        self.remote = None
        self.talk_keys = {
            "at": talk.Key(self, "at", lambda: self.at("AT+XEVENT=TALK,1"), lambda: self.at("AT+XEVENT=TALK,0")),
            "sco": talk.Key(self, "sco", self.open_link, self.close_link, self.first_sample)}

    # --- power ------------------------------------------------------------
    async def power_on(self):
        if self.device:
            return
        self.port = Port(self.lab.air, self.address)
        config = DeviceConfiguration(
            name=f"Lab {self.name}", address=hci.Address(self.address, hci.Address.PUBLIC_DEVICE_ADDRESS),
            class_of_device=0x240404, classic_enabled=True, le_enabled=False, classic_sc_enabled=True,
            classic_ssp_enabled=True, classic_smp_enabled=False, connectable=True, discoverable=True)
        d = self.device = Device.from_config_with_hci(config, self.port, self.port)
        d.pairing_config_factory = lambda c: PairingConfig(
            sc=True, mitm=False, bonding=True,
            delegate=PairingDelegate(PairingDelegate.IoCapability.NO_OUTPUT_NO_INPUT))
        version, features = PROFILES[self.profile]
        codecs = self.codecs if F.CODEC_NEGOTIATION in features else ["cvsd"]
        if "msbc" not in codecs:
            features = [f for f in features if f != F.CODEC_NEGOTIATION]
        self.hf_configuration = hfp.HfConfiguration(
            supported_hf_features=features,
            supported_hf_indicators=[hfp.HfIndicator.ENHANCED_SAFETY, hfp.HfIndicator.BATTERY_LEVEL],
            supported_audio_codecs=[CODECS[c] for c in codecs])
        server = rfcomm.Server(d)
        self.hf_channel = server.listen(self.on_hf_dlc, channel=7)
        self.hs_channel = server.listen(self.on_hs_dlc, channel=8)
        d.sdp_service_records = {}
        if self.profile != "hfp":
            d.sdp_service_records[0x10002] = a2dp.make_audio_sink_service_sdp_records(0x10002)
            d.sdp_service_records[0x10003] = avrcp.ControllerServiceSdpRecord(0x10003).to_service_attributes()
            d.sdp_service_records[0x10004] = avrcp.TargetServiceSdpRecord(0x10004).to_service_attributes()
        if self.profile not in ("a2dp", "hfp"):
            d.sdp_service_records[0x10005] = self.hsp_record(0x10005)
        if self.profile not in ("a2dp", "hsp"):
            d.sdp_service_records[0x10001] = hfp.make_hf_sdp_records(
                0x10001, self.hf_channel, self.hf_configuration, version)
        await d.power_on()
        d.keystore = self.keystore                # bonds survive power cycles
        d.on("connection", self.on_connection)
        if self.profile != "hfp":
            self.music.listen(d)
            self.remote = music.Remote(self)
            self.remote.protocol.listen(d)
        await d.set_discoverable(True)
        await d.set_connectable(True)
        self.note("power", "on")

    def hsp_record(self, handle):
        e, u = sdp.DataElement, core.UUID.from_16_bits
        return [
            sdp.ServiceAttribute(sdp.SDP_SERVICE_RECORD_HANDLE_ATTRIBUTE_ID, e.unsigned_integer_32(handle)),
            sdp.ServiceAttribute(sdp.SDP_SERVICE_CLASS_ID_LIST_ATTRIBUTE_ID, e.sequence(
                [e.uuid(u(0x1108)), e.uuid(u(0x1131)), e.uuid(u(0x1203))])),
            sdp.ServiceAttribute(sdp.SDP_PROTOCOL_DESCRIPTOR_LIST_ATTRIBUTE_ID, e.sequence([
                e.sequence([e.uuid(core.BT_L2CAP_PROTOCOL_ID)]),
                e.sequence([e.uuid(core.BT_RFCOMM_PROTOCOL_ID), e.unsigned_integer_8(self.hs_channel)])])),
            sdp.ServiceAttribute(sdp.SDP_BROWSE_GROUP_LIST_ATTRIBUTE_ID, e.sequence([e.uuid(sdp.SDP_PUBLIC_BROWSE_ROOT)])),
            sdp.ServiceAttribute(sdp.SDP_BLUETOOTH_PROFILE_DESCRIPTOR_LIST_ATTRIBUTE_ID, e.sequence(
                [e.sequence([e.uuid(u(0x1108)), e.unsigned_integer_16(0x0102)])])),
            sdp.ServiceAttribute(0x0302, e.boolean(True))]

    async def bond(self, profile=None):
        """Pairs with the guest as PROFILE, as if long ago: the key is known here. Returns bluetoothd's stored data of such a headset."""
        if profile:
            await self.power_off()
            self.profile = profile
            await self.power_on()
        key = self.lab.air.key(radio.addr_bytes(GUEST), radio.addr_bytes(self.address))
        await self.keystore.update(str(hci.Address(GUEST, hci.Address.PUBLIC_DEVICE_ADDRESS)), PairingKeys(
            link_key=PairingKeys.Key(key), link_key_type=UNAUTHENTICATED_P256))
        self.lab.air.keyless.discard(radio.addr_bytes(self.address))
        classes = [0x110B, 0x110C, 0x110E] if self.profile != "hfp" else []
        classes += [] if self.profile in ("a2dp", "hfp") else [0x1108]
        classes += [] if self.profile in ("a2dp", "hsp") else [0x111E]
        services = "".join(f"{c:08x}-0000-1000-8000-00805f9b34fb;" for c in sorted(classes))
        records = "".join(f"0x{handle:08X}={self.record(attributes).hex().upper()}\n"
                          for handle, attributes in self.device.sdp_service_records.items())
        return {"address": self.address, "cache": f"[General]\nName=Lab {self.name}\n\n[ServiceRecords]\n{records}", "info":
                f"[General]\nName=Lab {self.name}\nClass=0x240404\nSupportedTechnologies=BR/EDR;\nTrusted=true\nBlocked=false\n"
                f"Services={services}\n\n[LinkKey]\nKey={key.hex().upper()}\nType={UNAUTHENTICATED_P256}\nPINLength=0\n"}

    @staticmethod
    def record(attributes):
        """A service record as an SDP server answers it."""
        e = sdp.DataElement
        return bytes(e.sequence([x for a in attributes for x in (e.unsigned_integer_16(a.id), a.value)]))

    def gone(self):
        self.stop_sco()
        self.music.gone()
        self.remote = self.hf = None
        super().gone()

    def vanish(self, lsto):
        """As of every device; also says when the last packets of an open voice link passed."""
        if not self.device:
            return None
        take = self.takes[-1] if self.sco else None
        vanished = super().vanish(lsto)
        return dict(vanished, tx_last=take and take.tx_last, rx_last=take and take.rx_last)

    async def fade(self, seconds):
        """Out of reach briefly: nothing passes either way, the connection survives (less than 3 s)."""
        controller = self.port.controller
        controller.alive = False
        await asyncio.sleep(seconds)
        controller.alive = True
        return {"time": lab_time()}

    # --- ACL, HFP ---------------------------------------------------------
    def on_connection(self, c):
        if c.transport != core.PhysicalTransport.BR_EDR:
            return
        self.connection = c
        self.note("acl", str(c.peer_address))
        c.on("disconnection", self.on_disconnection)
        c.on("connection_encryption_change", lambda: self.note("encryption", str(c.encryption)))
        c.on("pairing", lambda *a: self.note("paired", ""))
        c.on("classic_pairing", lambda *a: self.note("paired", ""))
        c.on("sco_request", lambda link_type: self.on_sco_request(c, link_type))
        c.on("sco_connection", self.on_sco)
        c.on("sco_connection_failure", lambda s: self.note("sco-failed", s))

    def on_disconnection(self, reason):
        self.stop_sco()
        self.music.gone()
        self.connection = self.hf = None
        self.note("acl-lost", reason)

    def on_hf_dlc(self, dlc):
        self.note("rfcomm", "hfp")
        self.hf = Hf(dlc, self.hf_configuration, self)
        hf = self.hf

        async def run():
            try:
                await hf.run()                    # also returns when the SLC failed: the log has the reason
                self.note("hfp-closed", "")
            except Exception as e:
                self.note("hfp-failed", repr(e))
            if self.hf is hf:
                self.hf = None
        dlc.on("close", lambda: self.note("hfp-dlc-closed", ""))
        self.hf_task = asyncio.get_running_loop().create_task(run())

    def on_hs_dlc(self, dlc):
        self.note("rfcomm", "hsp")
        self.hs_dlc = dlc
        dlc.on("close", lambda: self.note("hsp-closed", ""))
        dlc.sink = lambda data: self.note("hsp-rx", data.decode(errors="replace").strip())

    async def reach(self, peer):
        """Pages the gateway and encrypts, unless already done."""
        c = self.connection or await self.device.connect(hci.Address(peer, hci.Address.PUBLIC_DEVICE_ADDRESS),
                                      transport=core.PhysicalTransport.BR_EDR)
        if not c.is_encrypted:
            await c.authenticate()
            await c.encrypt()
        return c

    async def connect(self, peer):
        """The headset was switched on near its gateway: page it, encrypt, open HFP.
        bluetoothd's policy plugin also tries to reach a headset that it lost; then it may have been first."""
        if self.profile == "a2dp":
            return await self.connect_a2dp(peer)
        if self.hf:
            return {"already": True}
        c = await self.reach(peer)
        if self.profile == "hsp":
            channel = await rfcomm.find_rfcomm_channel_with_uuid(c, core.UUID.from_16_bits(0x1112))
            if not channel:
                raise RuntimeError("no Headset Audio Gateway record")
            mux = await rfcomm.Client(c).start()
            self.on_hs_dlc(await mux.open_dlc(channel))
            return {"channel": channel}
        found = await hfp.find_ag_sdp_record(c)
        if not found:
            raise RuntimeError("no Hands-Free Audio Gateway record")
        mux = await rfcomm.Client(c).start()
        self.on_hf_dlc(await mux.open_dlc(found[0]))
        return {"channel": found[0], "version": int(found[1])}

    async def connect_mute(self, peer):
        """Opens HFP's channel and sends nothing on it: a headset that hangs."""
        c = await self.reach(peer)
        found = await hfp.find_ag_sdp_record(c)
        if not found:
            raise RuntimeError("no Hands-Free Audio Gateway record")
        mux = await rfcomm.Client(c).start()
        dlc = await mux.open_dlc(found[0])
        dlc.sink = lambda data: None
        dlc.on("close", lambda: self.note("hfp-dlc-closed", ""))
        self.note("rfcomm", "mute")
        return {"channel": found[0]}

    async def connect_a2dp(self, peer):
        """A2DP alone, before or after HFP."""
        if not self.remote:
            raise RuntimeError("it has no A2DP")
        c = await self.reach(peer)
        if self.music.protocol:
            return {"already": True}
        return await self.music.connect(c)

    # --- SCO --------------------------------------------------------------
    def on_sco_request(self, c, link_type):
        self.note("sco-request", link_type)
        if self.refusals > 0:
            self.refusals -= 1
            self.note("sco-refused", self.refusals)
            asyncio.get_running_loop().create_task(self.device.send_async_command(
                hci.HCI_Reject_Synchronous_Connection_Request_Command(
                    bd_addr=c.peer_address, reason=self.refusal)))
            return
        asyncio.get_running_loop().create_task(self.device.send_async_command(
            hci.HCI_Enhanced_Accept_Synchronous_Connection_Request_Command(
                bd_addr=c.peer_address, **self.link_parameters(link_type == 2))))

    def link_parameters(self, extended):
        """Of a link with the codec that was agreed on."""
        codec = self.hf.active_codec if self.hf else hfp.AudioCodec.CVSD
        if self.forced:
            codec = {"cvsd": hfp.AudioCodec.CVSD, "msbc": hfp.AudioCodec.MSBC}[self.forced]
        P = hfp.DefaultCodecParameters
        # HCI carries encoded mSBC (transparent) as between a host and a real controller.
        p = hfp.ESCO_PARAMETERS[P.ESCO_CVSD_S4 if extended else P.SCO_CVSD_D1].asdict().copy()
        if codec == hfp.AudioCodec.MSBC:
            t = hci.CodingFormat(hci.CodecID.TRANSPARENT)
            p = hfp.ESCO_PARAMETERS[P.ESCO_MSBC_T2].asdict().copy()
            p.update(transmit_coding_format=t, receive_coding_format=t, input_coding_format=t, output_coding_format=t,
                     input_bandwidth=8000, output_bandwidth=8000)
        return p

    async def open_link(self):
        """Opens the link from the headset's side."""
        if not self.connection:
            raise RuntimeError("no connection")
        if self.sco:
            raise RuntimeError("the link is open")
        await self.device.send_async_command(hci.HCI_Enhanced_Setup_Synchronous_Connection_Command(
            connection_handle=self.connection.handle, **self.link_parameters(True)))
        before = len(self.events)
        failed = lambda: any(k == "sco-failed" for _, k, _ in self.events[before:])
        await self.until(lambda: self.sco or failed(), self.lab.patience * 5, "the link did not open")
        if not self.sco:
            raise RuntimeError("the gateway refused the link")

    def first_sample(self):
        """When the first packet of the latest link began; a packet leaves with its last sample."""
        first = self.takes[-1].tx_first
        return first and first - PACKET_SECONDS

    async def close_link(self):
        if self.sco:
            await self.sco.disconnect()

    def on_sco(self, link):
        self.sco = link
        self.sco_codec = self.forced or ("msbc" if self.hf and self.hf.active_codec == hfp.AudioCodec.MSBC else "cvsd")
        self.msbc = voice.Msbc()
        self.takes.append(Take(len(self.takes), self.sco_codec))
        self.echo = bytearray()
        link.sink = self.on_sco_packet
        link.on("disconnection", self.on_sco_lost)
        self.note("sco", self.sco_codec)
        self.sco_task = asyncio.get_running_loop().create_task(self.microphone(link))
        if self.link_life is not None:
            self.life_task = asyncio.get_running_loop().create_task(self.end_link(link, self.link_life))

    async def end_link(self, link, seconds):
        await asyncio.sleep(seconds)
        if self.sco is link:
            await link.disconnect()

    def on_sco_packet(self, packet):
        pcm = self.msbc.decode(packet.data) if self.sco_codec == "msbc" else packet.data
        self.takes[-1].received(pcm, len(packet.data))
        if self.mic[0] == "loop":
            self.echo += pcm
        if self.pulse_from is not None:
            a = array.array("h", pcm)
            if a and max(a) > 8000:
                self.note("pulse-heard", round(1000 * (lab_time() - self.pulse_from), 1))
                self.pulse_from = None

    def microphone_source(self, kind, rate):
        """Returns a function that gives the requested bytes of the microphone's audio."""
        match kind[0]:
            case "tone":
                return voice.Tone(rate, *kind[1]).take
            case "counted":
                return counted.Source(rate, *kind[1]).take
            case "raw":
                data = open(kind[1], "rb")
                return lambda n: data.read(n).ljust(n, b"\0")
            case "loop":
                def echo(n):
                    piece = bytes(self.echo[:n]).ljust(n, b"\0")
                    del self.echo[:n]
                    return piece
                return echo
        return bytes

    async def microphone(self, link):
        """Sends one packet every 7.5 ms by the host's clock, like a controller's eSCO timing."""
        size = 240 if self.sco_codec == "msbc" else 120          # PCM bytes of a packet
        source, kind = None, None
        start, sent = lab_time(), 0
        try:
            while self.sco is link:
                if self.mic != kind:
                    kind, source = self.mic, self.microphone_source(self.mic, self.takes[-1].rate)
                pcm = source(size)
                if self.pulse_at and lab_time() >= self.pulse_at:
                    pcm = array.array("h", ([20000] * 8 + [-20000] * 8) * 8).tobytes()[:size].ljust(size, b"\0")
                    self.pulse_from, self.pulse_at = lab_time(), None
                data = self.msbc.encode(pcm) if self.sco_codec == "msbc" else pcm
                self.device.host.send_sco_sdu(link.handle, data)
                sent += 1
                delay = start + sent * PACKET_SECONDS - lab_time()
                self.takes[-1].sent(pcm, late=delay <= 0)
                if delay > 0:
                    await asyncio.sleep(delay)
                elif delay < -0.5:                               # host stalled: do not send an endless burst
                    start -= delay
        except Exception as e:
            self.note("mic-failed", repr(e))

    def stop_sco(self):
        if self.sco:
            self.takes[-1].closed = lab_time()
            self.sco = None

    def on_sco_lost(self, reason):
        self.stop_sco()
        self.note("sco-lost", reason)

    def take(self, number=None):
        if not self.takes:
            raise RuntimeError("no synchronous connection yet")
        return self.takes[-1 if number is None else int(number)]

    def reset_counters(self):
        """Begins a new take, even in the middle of a connection."""
        if self.sco:
            self.takes[-1].closed = lab_time()
            self.takes.append(Take(len(self.takes), self.sco_codec))

    def sco_stats(self, freq=None, last=None):
        if not self.takes:
            return {"codec": None, "rx_packets": 0, "tx_packets": 0}
        take = self.takes[-1]
        gaps = sorted(take.rx_gaps)
        span = take.rx_last - take.rx_first if take.rx_packets > 1 else 0
        out = dict(take.summary(), tx_late=take.tx_late, rx_bytes=take.rx_bytes, rx_span_s=round(span, 3),
                   rx_bytes_per_s=round(take.rx_bytes / span) if span else 0)
        if gaps:
            out.update(gap_ms_median=round(1000 * gaps[len(gaps) // 2], 2), gap_ms_max=round(1000 * gaps[-1], 2),
                       gap_ms_p99=round(1000 * gaps[int(len(gaps) * .99)], 2))
        if take.codec == "msbc":
            out.update(msbc_frames=self.msbc.frames, msbc_lost=self.msbc.lost, msbc_bad=self.msbc.bad,
                       msbc_skipped=self.msbc.skipped)
        if take.heard:
            pcm = bytes(take.heard if not last else take.heard[-int(last * take.rate) * 2:])
            out.update(voice.analyse(pcm, take.rate, freq))
        return out

    # --- commands ---------------------------------------------------------
    @staticmethod
    def microphone_kind(a):
        match a[0]:
            case "tone":
                return ("tone", (float(a[1]), float(a[2]) if len(a) > 2 else 0.5))
            case "counted":
                return ("counted", (int(a[1]) if len(a) > 1 else 0, float(a[2]) if len(a) > 2 else counted.DEFAULT_AMPLITUDE))
            case "raw":
                return ("raw", a[1])
            case "silence" | "loop":
                return (a[0],)
        raise ValueError("mic tone|counted|silence|loop|raw")

    async def at(self, line, timeout=10.0):
        if not self.hf:
            raise RuntimeError("no HFP connection")
        r = await self.hf.execute_command(line, timeout=timeout, response_type=hfp.AtResponseType.MULTIPLE)
        return [f"{x.code} {x.parameters}" for x in (r or [])]

    async def command(self, verb, args):
        a = args
        if verb in self.COMMON:
            return await self.common_command(verb, a)
        if verb == "power":
            if a[0] == "on":
                await self.power_on()
            elif a[0] == "off":
                await self.power_off()
            elif a[0] == "lost":
                return self.vanish(float(a[1]) if len(a) > 1 else 0.0)
        elif verb == "fade":
            return await self.fade(float(a[0]))
        elif verb == "connect":
            return await asyncio.wait_for(self.connect(a[0] if a else GUEST), 20)
        elif verb == "connect-a2dp":
            return await asyncio.wait_for(self.connect_a2dp(a[0] if a else GUEST), 20)
        elif verb == "a2dp-capabilities":                 # from the next AVDTP connection
            self.music.capabilities = music.capabilities(a[0])
        elif verb == "a2dp-refuse":                       # configuration|start N: refuses this many from now on
            if a[0] not in ("configuration", "start"):
                raise ValueError("a2dp-refuse configuration|start N")
            self.music.refusals[a[0]] = int(a[1])
        elif verb == "a2dp-start":
            await self.music.start()
        elif verb == "a2dp-suspend":
            await self.music.suspend()
        elif verb == "a2dp-delay":                        # milliseconds
            await self.music.report_delay(float(a[0]))
        elif verb == "a2dp-save":                         # FILE [TAKE]
            return self.music.take(a[1] if len(a) > 1 else None).write(os.path.join(self.lab.dir, a[0]))
        elif verb == "a2dp-takes":
            return [t.summary() for t in self.music.takes]
        elif verb == "disconnect":
            await self.connection.disconnect()
        elif verb == "bond":
            return await self.bond(a[0] if a else None)
        elif verb == "forget":
            self.keystore.all_keys.clear()
            self.lab.air.keyless.add(radio.addr_bytes(self.address))
        elif verb == "at":
            return await self.at(" ".join(a))
        elif verb == "answer":
            return await self.at("ATA")
        elif verb == "hangup":
            return await self.at("AT+CHUP")
        elif verb == "redial":
            return await self.at("AT+BLDN")
        elif verb in ("vgs", "vgm"):
            return await self.at(f"AT+{verb.upper()}={int(a[0])}")
        elif verb == "battery":                           # percent, as HF indicator 2
            return await self.at(f"AT+BIEV=2,{int(a[0])}")
        elif verb == "apple-battery":                     # 0..9
            await self.at("AT+XAPL=0000-0000-0100,10")
            return await self.at(f"AT+IPHONEACCEV=1,1,{int(a[0])}")
        elif verb == "plantronics-battery":               # level levels; without the second the short form, 0..9
            return await self.at("AT+XEVENT=BATTERY," + ",".join(a[:2]) + (",90,0" if len(a) > 1 else ""))
        elif verb == "csr-battery":                       # 0..9
            return await self.at(f"AT+CSRBATT={int(a[0])}")
        elif verb == "raw":                               # as typed, without waiting for an answer
            (self.hf.dlc if self.hf else self.hs_dlc).write(" ".join(a) + "\r")
        elif verb == "connect-mute":
            return await self.connect_mute(a[0] if a else GUEST)
        elif verb == "flood":                             # the same line this many times at once, without waiting for an answer
            self.hf.dlc.write((" ".join(a[1:]) + "\r") * int(a[0]))
        elif verb == "refuse-links":                      # the number; the reason in hexadecimal
            self.refusals, self.refusal = int(a[0]), int(a[1], 16) if len(a) > 1 else 0x0E
        elif verb == "codec-answer":
            if a[0] not in ("right", "wrong", "never"):
                raise ValueError("codec-answer right|wrong|never")
            self.codec_answer = a[0]
        elif verb == "offer-codecs":                      # AT+BAC in the connection
            codecs = [CODECS[c] for c in a[0].split(",")]
            self.hf.supported_audio_codecs = codecs
            return await self.at("AT+BAC=" + ",".join(str(int(c)) for c in codecs))
        elif verb == "hsp-button":
            self.hs_dlc.write("AT+CKPD=200\r")
        elif verb == "hsp-volume":
            self.hs_dlc.write(f"AT+VGS={int(a[0])}\r")
        elif verb == "audio-open":
            return await self.at("AT+BCC")
        elif verb == "audio-close":
            await self.sco.disconnect()
        elif verb == "talk":                              # at|sco press|release|series ...
            return await self.talk_keys[a[0]].command(a[1:])
        elif verb == "link-life":                         # seconds | for-ever
            self.link_life = None if a[0] == "for-ever" else float(a[0])
        elif verb == "codecs":                            # takes effect at the next power on
            self.codecs = [c for c in a[0].split(",") if CODECS[c] is not None]
        elif verb == "profile":                           # takes effect at the next power on
            if a[0] not in PROFILES:
                raise ValueError("profile " + "|".join(PROFILES))
            self.profile = a[0]
        elif verb == "force-codec":
            self.forced = None if a[0] == "none" else a[0]
        elif verb == "mic":
            self.mic = self.microphone_kind(a)
        elif verb == "pulse":                             # click into the mic; event pulse-heard = ms until it is heard back
            if not self.sco:
                raise RuntimeError("no SCO")
            self.pulse_from, self.pulse_at = None, lab_time() + 0.01
        elif verb == "sco":
            return self.sco_stats(float(a[0]) if a else None, float(a[1]) if len(a) > 1 else None)
        elif verb == "sco-reset":
            self.reset_counters()
        elif verb in ("wav", "mic-wav"):
            return self.take(a[1] if len(a) > 1 else None).write(os.path.join(self.lab.dir, a[0]), heard=verb == "wav")
        elif verb == "takes":
            return [t.summary() for t in self.takes]
        elif verb == "a2dp":
            return self.music.take().statistics([float(x) for x in a]) if self.music.takes else {"packets": 0}
        elif verb in ("avrcp-key", "avrcp-volume"):
            if not self.remote:
                raise RuntimeError("no AVRCP")
            if verb == "avrcp-volume":                    # 0...127, as at the headset's own buttons
                return self.remote.turn(int(a[0]))
            await self.remote.press(a[0])                 # play, pause, stop, next, previous, volume_up ...
        elif verb == "status":
            return {"on": bool(self.device), "acl": bool(self.connection), "hfp": bool(self.hf), "sco": bool(self.sco),
                    "codec": self.sco_codec if self.sco else None, "profile": self.profile, "codecs": self.codecs,
                    "takes": len(self.takes), "a2dp": self.music.state(),
                    "volume": self.remote.volume if self.remote else None,
                    "a2dp_takes": len(self.music.takes), "bonds": list(self.keystore.all_keys), "events": len(self.events)}
        else:
            raise ValueError(f"unknown command {verb}")

"""Music at a headset: A2DP's sink, its streams as takes, and the keys and the volume of AVRCP."""
import array
import asyncio
import os
import wave

from bumble import a2dp, avc, avdtp, avrcp, l2cap

import voice
from clock import lab_time

KEYS = {"next": "FORWARD", "previous": "BACKWARD"}                       # other keys have the specification's names
STANDARD = "ffff0235"                                                    # all SBC capabilities, bitpools 2 to 53
CAPABILITIES = {"default": STANDARD, "mono": "f8ff0235", "low": "ffff0213", "44100": "2fff0235", "48000": "1fff0235"}


def operation(name):
    """The AVRCP operation of a key: play, pause, stop, next, previous, volume_up ..."""
    return getattr(avc.PassThroughFrame.OperationId, KEYS.get(name, name.upper()))


def capabilities(words):
    """The four bytes of an SBC capability from `HEX` or a name."""
    value = bytes.fromhex(CAPABILITIES.get(words, words))
    if len(value) != 4 or not 2 <= value[2] <= value[3] <= 250:
        raise ValueError("a2dp-capabilities " + "|".join(CAPABILITIES) + "|HEX (4 bytes: modes, frames, bitpools)")
    return value


def choose(ours, theirs):
    """The SBC configuration requested by a headset that begins itself: the best that both support."""
    common = bytes(a & b for a, b in zip(ours[:2], theirs[:2]))
    def best(byte, bits):                                                # the first of the bits, the best first
        return next((bit for bit in bits if byte & bit), None)
    chosen = [best(common[0], (0x10, 0x20, 0x40, 0x80)), best(common[0], (1, 2, 4, 8)), best(common[1], (0x10, 0x20, 0x40, 0x80)),
              best(common[1], (4, 8)), best(common[1], (1, 2))]
    low, high = max(ours[2], theirs[2]), min(ours[3], theirs[3])
    if None in chosen or low > high:
        raise ValueError(f"nothing in common: {ours.hex()} {theirs.hex()}")
    return bytes([chosen[0] | chosen[1], chosen[2] | chosen[3] | chosen[4], low, high])


class Take:
    """Audio from a start of a stream to its end, with times (lab time)."""

    def __init__(self, number, configuration):
        self.number, self.configuration = number, configuration
        self.opened, self.closed = lab_time(), None
        self.sbc = voice.SbcDecoder()
        self.pcm, self.times = bytearray(), []                           # interleaved; (first frame of a packet, time of receipt)
        self.packets = self.bytes = self.lost = self.miscounted = 0
        self.first = self.last = self.sequence = self.first_stamp = self.last_stamp = None
        self.gaps, self.bitpools = [], set()

    def received(self, sequence, timestamp, payload):
        now = lab_time()
        if self.last is not None:
            self.gaps.append(now - self.last)
        self.first = self.first or now
        self.last = now
        self.packets += 1
        self.bytes += len(payload)
        if self.sequence is not None:
            self.lost += (sequence - self.sequence - 1) & 0xFFFF
        self.sequence = sequence
        if self.first_stamp is None:
            self.first_stamp = timestamp
        self.last_stamp = timestamp
        frames = self.sbc.frames
        if len(payload) > 3 and payload[1] == 0x9C:
            self.bitpools.add(payload[3])
        pcm = self.sbc.decode(payload[1:])
        # The header states the number of frames in the packet.
        self.miscounted += payload[0] & 0x0F != self.sbc.frames - frames
        if pcm:
            self.times.append((self.frames, now))
            self.pcm += pcm

    @property
    def frames(self):
        return len(self.pcm) // (2 * max(self.sbc.channels, 1))

    def channel(self, number, last_s=None):
        samples = array.array("h", self.pcm)[number::max(self.sbc.channels, 1)]
        return samples[-int(last_s * self.sbc.rate):] if last_s else samples

    def summary(self):
        rate = self.sbc.rate
        return {"take": self.number, "opened": self.opened, "closed": self.closed, "configuration": self.configuration,
                "packets": self.packets, "lost": self.lost, "first": self.first, "last": self.last, "rate": rate,
                "channels": self.sbc.channels, "media_s": round(self.frames / rate, 3) if rate else 0,
                "span_s": round(self.last - self.first, 3) if self.packets else 0}

    def statistics(self, tones=(), last_s=10):
        """`tones`: the expected frequency on each channel, left first; levels and shares are those of the last seconds."""
        out = dict(self.summary(), bytes=self.bytes, sbc_frames=self.sbc.frames, sbc_bad=self.sbc.bad,
                   miscounted=self.miscounted, bitpools=sorted(self.bitpools))
        if not self.packets:
            return out
        span, gaps = self.last - self.first, sorted(self.gaps)
        if span > 0:
            # From the first packet to the last, whose audio has not ended yet.
            out["kbit_s"] = round(self.bytes * 8 / 1000 / span)
            out["media_per_s"] = round(self.times[-1][0] / self.sbc.rate / span, 4) if self.times else 0
            out["stamp_s"] = round(((self.last_stamp - self.first_stamp) & 0xFFFFFFFF) / self.sbc.rate, 3) if self.sbc.rate else 0
        if gaps:
            out.update(gap_ms_median=round(1000 * gaps[len(gaps) // 2], 2), gap_ms_max=round(1000 * gaps[-1], 2),
                       gap_ms_p99=round(1000 * gaps[int(len(gaps) * .99)], 2))
        for number, name in enumerate(("left", "right")[:self.sbc.channels]):
            hz = tones[number] if number < len(tones) else tones[-1] if tones else None
            out[name] = voice.analyse(self.channel(number, last_s).tobytes(), self.sbc.rate, hz)
        return out

    def write(self, path):
        """Writes both channels as WAV, with their times beside it."""
        if not self.sbc.channels:
            raise RuntimeError("nothing was heard")
        with wave.open(path, "wb") as w:
            w.setnchannels(self.sbc.channels)
            w.setsampwidth(2)
            w.setframerate(self.sbc.rate)
            w.writeframes(bytes(self.pcm))
        with open((path[:-4] if path.endswith(".wav") else path) + ".times", "w") as f:
            f.write("# clock lab\n# mode arrival\n")
            f.writelines(f"{frame} {time:.6f}\n" for frame, time in self.times)
        return dict(self.summary(), file=os.path.basename(path))


class Sink:
    """A headset's A2DP sink: one SBC endpoint for each AVDTP connection, or none while A2DP is off."""

    def __init__(self, owner):
        self.owner = owner
        self.capabilities = bytes.fromhex(STANDARD)                      # used from the next AVDTP connection on
        self.refusals = {}                                               # number of refusals by configuration and start
        self.takes = []
        self.protocol = self.endpoint = self.signal = None

    def listen(self, device):
        self.listener = avdtp.Listener.for_device(device)
        self.listener.on("connection", self.connected)

    def gone(self):
        self._close()
        self.protocol = self.endpoint = None

    def connected(self, protocol):
        self.owner.note("avdtp", "")
        self.protocol = protocol
        capability = avdtp.MediaCodecCapabilities(
            media_type=avdtp.AVDTP_AUDIO_MEDIA_TYPE, media_codec_type=a2dp.A2DP_SBC_CODEC_TYPE,
            media_codec_information=a2dp.SbcMediaCodecInformation.from_bytes(self.capabilities))
        endpoint = self.endpoint = protocol.add_sink(capability)
        endpoint.capabilities = list(endpoint.capabilities) + [
            avdtp.ServiceCapabilities(avdtp.AVDTP_DELAY_REPORTING_SERVICE_CATEGORY)]
        for event in ("open", "stop", "close", "abort", "rtp_channel_open", "rtp_channel_close"):
            endpoint.on(event, lambda *_, e=event: self._happened(e))
        endpoint.on("configuration", lambda: self.owner.note("a2dp", f"configuration {self.configuration()}"))
        endpoint.on("start", lambda: self._started("start"))
        endpoint.on("suspend", lambda: self._happened("suspend"))
        endpoint.on("rtp_packet", self._packet)
        configure, start = endpoint.on_set_configuration_command, endpoint.on_start_command

        async def on_configure(configuration):
            if self._refuses("configuration"):
                return avdtp.Set_Configuration_Reject(service_category=avdtp.AVDTP_MEDIA_CODEC_SERVICE_CATEGORY,
                                                      error_code=avdtp.AVDTP_UNSUPPORTED_CONFIGURATION_ERROR)
            return await configure(configuration)

        async def on_start():
            if self._refuses("start"):
                return avdtp.Start_Reject(endpoint.seid, avdtp.AVDTP_BAD_STATE_ERROR)
            return await start()
        endpoint.on_set_configuration_command, endpoint.on_start_command = on_configure, on_start
        protocol.on("close", lambda: self._disconnected(protocol))

    def _disconnected(self, protocol):
        self.owner.note("avdtp-closed", "")
        if self.protocol is protocol:
            self.gone()

    def _refuses(self, what):
        if self.refusals.get(what, 0) <= 0:
            return False
        self.refusals[what] -= 1
        self.owner.note("a2dp-refused", what)
        return True

    def configuration(self):
        """The SBC configuration as hexadecimal, or an empty string."""
        for capability in self.endpoint.configuration if self.endpoint else []:
            if capability.service_category == avdtp.AVDTP_MEDIA_CODEC_SERVICE_CATEGORY:
                return bytes(capability.media_codec_information).hex()
        return ""

    def _started(self, event):
        self.takes.append(Take(len(self.takes), self.configuration()))
        self.owner.note("a2dp", event)

    def _close(self):
        if self.takes and self.takes[-1].closed is None:
            self.takes[-1].closed = lab_time()

    def _happened(self, event):
        if event not in ("open", "rtp_channel_open"):
            self._close()
        self.owner.note("a2dp", event)

    def _packet(self, packet):
        if self.takes:
            self.takes[-1].received(packet.sequence_number, packet.timestamp, packet.payload)

    # --- connections that the headset makes -------------------------------------------
    async def connect(self, connection):
        """Connects like a headset when switched on: signalling, the best common configuration, open stream."""
        protocol = await self._signalling(connection)
        self.listener.set_server(connection, protocol)
        protocol.on("close", lambda: self.listener.remove_server(connection))
        self.connected(protocol)
        for remote in await protocol.discover_remote_endpoints():
            for capability in remote.capabilities:
                if (remote.tsep == avdtp.AVDTP_TSEP_SRC and not remote.in_use
                        and capability.service_category == avdtp.AVDTP_MEDIA_CODEC_SERVICE_CATEGORY
                        and capability.media_codec_type == a2dp.A2DP_SBC_CODEC_TYPE):
                    return await self._open(remote, bytes(capability.media_codec_information))
        raise RuntimeError("the gateway has no SBC source that is free")

    @staticmethod
    async def _signalling(connection):
        # Encryption is known here before the guest's kernel has learnt of it, which refuses until then.
        for _ in range(20):
            try:
                return await avdtp.Protocol.connect(connection)
            except l2cap.L2capError as e:
                refusal = e
                await asyncio.sleep(0.1)
        raise refusal

    async def _open(self, remote, theirs):
        chosen = choose(self.capabilities, theirs)
        self.endpoint.configuration = [
            avdtp.ServiceCapabilities(avdtp.AVDTP_MEDIA_TRANSPORT_SERVICE_CATEGORY),
            avdtp.MediaCodecCapabilities(
                media_type=avdtp.AVDTP_AUDIO_MEDIA_TYPE, media_codec_type=a2dp.A2DP_SBC_CODEC_TYPE,
                media_codec_information=a2dp.SbcMediaCodecInformation.from_bytes(chosen))]
        stream = await self.protocol.create_stream(self.endpoint, remote)
        self.owner.note("a2dp", f"own configuration {chosen.hex()}")
        await stream.open()
        self.endpoint.on_rtp_channel_open()
        return {"configuration": chosen.hex()}

    def stream(self):
        if not self.endpoint or not self.endpoint.stream:
            raise RuntimeError("no A2DP stream")
        return self.endpoint.stream

    async def start(self):
        stream = self.stream()
        self._started("own start")                                       # the packets may be here before the answer
        await stream.start()

    async def suspend(self):
        await self.stream().stop()
        self._happened("own suspend")

    async def report_delay(self, milliseconds):
        stream = self.stream()
        answer = await self.protocol.send_command(
            avdtp.DelayReport_Command(stream.remote_endpoint.seid, round(milliseconds * 10)))
        if not isinstance(answer, avdtp.DelayReport_Response):
            raise RuntimeError(f"refused: {answer}")

    def take(self, number=None):
        if not self.takes:
            raise RuntimeError("no stream has been started yet")
        return self.takes[-1 if number is None else int(number)]

    def state(self):
        stream = self.endpoint.stream if self.endpoint else None
        return stream.state.name.lower() if stream else None


class Remote(avrcp.Delegate):
    """AVRCP: the keys of the headset and its volume."""

    def __init__(self, owner):
        super().__init__([avrcp.EventId.VOLUME_CHANGED])
        self.owner = owner
        self.volume = 64
        self.protocol = avrcp.Protocol(self)
        self.protocol.on("start", lambda: self._changed("open"))
        self.protocol.on("stop", lambda: self._changed("closed"))

    def _changed(self, state):
        self.protocol.notification_listeners.clear()                     # they belong to an earlier connection
        self.owner.note("avrcp", state)

    async def set_absolute_volume(self, volume):
        await super().set_absolute_volume(volume)
        self.owner.note("avrcp-volume", volume)

    async def on_key_event(self, key, pressed, data):
        self.owner.note("avrcp-key", f"{key} {pressed}")

    def _connected(self):
        if not self.protocol.avctp_protocol:
            raise RuntimeError("no AVRCP connection")

    async def press(self, name):
        self._connected()
        for pressed in (True, False):
            await self.protocol.send_key_event(operation(name), pressed)

    def turn(self, volume):
        """Sets the volume at the headset's own buttons, and notifies the gateway if it has registered for it."""
        self._connected()
        if not 0 <= volume <= 127:
            raise ValueError("avrcp-volume 0...127")
        asked = avrcp.EventId.VOLUME_CHANGED in self.protocol.notification_listeners
        self.volume = volume
        self.protocol.notify_volume_changed(volume)
        return {"volume": volume, "told": asked}

// The door's page: a second telephone in the same browser. It says a tone, and shows how loud the kiosk is: the sound card is the
// kiosk's. Its frequency: door.html#tone=800

import { describe, signals } from './peer.js'

const find = (id) => document.getElementById(id)
const frequency = Number(new URLSearchParams(location.hash.slice(1)).get('tone') ?? 440)
let peer = null
let sound = null

async function ring() {
  close()
  sound = new AudioContext()
  const [tone, out, meter] = [sound.createOscillator(), sound.createMediaStreamDestination(), sound.createAnalyser()]
  meter.fftSize = 32768                             // 0.7 s at 48 kHz: no sound falls between two looks
  tone.frequency.value = frequency
  tone.connect(out)
  tone.start()
  peer = new RTCPeerConnection()
  peer.addTrack(out.stream.getAudioTracks()[0], out.stream)
  peer.ontrack = ({ streams }) => {
    // Chromium decodes a stream only where an element plays it.
    const element = Object.assign(new Audio(), { srcObject: streams[0], muted: true })
    element.play()
    sound.createMediaStreamSource(streams[0]).connect(meter)
  }
  const samples = new Float32Array(meter.fftSize)
  const heard = setInterval(() => {
    if (!peer) return clearInterval(heard)
    meter.getFloatTimeDomainData(samples)
    const level = Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length)
    find('state').textContent = `${peer.connectionState}, the kiosk is at ${level.toFixed(3)}`
  }, 500)
  signals.send({ to: 'kiosk', word: 'offer', description: await describe(peer, await peer.createOffer()) })
  find('state').textContent = 'ringing'
}

function close() {
  peer?.close()
  sound?.close()
  peer = sound = null
  find('state').textContent = 'idle'
}

signals.listen('door', async (message) => {
  if (message.word === 'answer') await peer?.setRemoteDescription(message.description)
  // The kiosk's page was loaded again: the same call gets a new connection.
  else if (message.word === 'again') await ring()
  else if (message.word === 'bye') close()
})

find('ring').addEventListener('click', ring)
find('end').addEventListener('click', () => {
  signals.send({ to: 'kiosk', word: 'bye' })
  close()
})

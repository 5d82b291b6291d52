// A kiosk's telephone: door.html calls it over WebRTC, and btcall rings the headset, whose button answers and ends the call.
// The audio is the browser's own: with ALSA's default device set to btcall it is the call on the headset.

import { Phone } from '/btcall.js'
import { describe, signals } from './peer.js'

const find = (id) => document.getElementById(id)
/** A kiosk has one page: its key outlives a browser that crashed, and with it the page finds its call again. */
const key = localStorage.getItem('kiosk.key') ?? crypto.randomUUID()
localStorage.setItem('kiosk.key', key)
/** The offer that rings, and the connection of the call. */
let offer = null
let peer = null
let call = null

const phone = new Phone({
  name: 'Kiosk',
  key,
  token: new URLSearchParams(location.hash.slice(1)).get('token') ?? undefined,
  handlers: {
    answer: connect,
    end: hangUp,
    mute: () => setMicrophone(false),
    unmute: () => setMicrophone(true),
  },
})
phone.addEventListener('connection', show)
// After a reload: the call is up, its audio went with the page that was here before.
phone.addEventListener('call', ({ detail }) => {
  follow(detail)
  signals.send({ to: 'door', word: 'again' })
})

signals.listen('kiosk', async (message) => {
  if (message.word === 'offer') {
    offer = message.description
    if (call?.state === 'active') return connect()
    if (!call) follow(await phone.incoming('door', { name: 'Front door' }))
  } else if (message.word === 'bye' && call) {
    close()
    await call.ended('remoteHangUp')
  }
})

/** Connects the audio with the door. */
async function connect() {
  close()
  // btcalld removes echo and noise: twice would be worse than once.
  const audio = { echoCancellation: false, noiseSuppression: false, autoGainControl: false }
  const microphone = await navigator.mediaDevices.getUserMedia({ audio })
  peer = new RTCPeerConnection()
  peer.ontrack = ({ streams }) => { find('far').srcObject = streams[0] }
  for (const track of microphone.getTracks()) peer.addTrack(track, microphone)
  await peer.setRemoteDescription(offer)
  signals.send({ to: 'door', word: 'answer', description: await describe(peer, await peer.createAnswer()) })
}

function hangUp() {
  close()
  signals.send({ to: 'door', word: 'bye' })
}

function close() {
  for (const sender of peer?.getSenders() ?? []) sender.track?.stop()
  peer?.close()
  peer = null
}

function setMicrophone(isOn) {
  for (const sender of peer?.getSenders() ?? []) sender.track.enabled = isOn
}

function follow(next) {
  call = next
  call.addEventListener('state', () => {
    if (call.state === 'ended') {
      close()
      call = null
    }
    show()
  })
  show()
}

function show() {
  find('state').textContent = call ? `${call.name ?? call.number}: ${call.state}` : `telephone: ${phone.state}`
  find('answer').hidden = call?.state !== 'ringing'
  find('end').hidden = !call
}

find('answer').addEventListener('click', async () => {
  await connect()
  await call.active()
})
find('end').addEventListener('click', () => {
  const ended = call
  hangUp()
  return ended.ended('localHangUp')
})

phone.connect().catch((error) => { find('state').textContent = error.message })

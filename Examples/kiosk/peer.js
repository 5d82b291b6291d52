// Signalling between pages of one browser, and descriptions with all candidates in them.

const channel = new BroadcastChannel('btcall-kiosk')

export const signals = {
  send: (message) => channel.postMessage(message),
  listen: (name, receive) => channel.addEventListener('message', ({ data }) => { if (data.to === name) receive(data) }),
}

/** Makes a description the local one, and returns it when it has every candidate. */
export async function describe(peer, description) {
  await peer.setLocalDescription(description)
  while (peer.iceGatheringState !== 'complete') {
    await new Promise((resolve) => peer.addEventListener('icegatheringstatechange', resolve, { once: true }))
  }
  return { type: peer.localDescription.type, sdp: peer.localDescription.sdp }
}

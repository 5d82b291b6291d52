// Words of the bus as a person reads them.

const reasons = {
  newDeviceAvailable: 'a better device became available', oldDeviceUnavailable: 'the device before is not available any more',
  userSelection: 'somebody chose it', preferenceChanged: 'the preferred device changed', configurationChanged: 'a setting changed',
  linkSilent: 'nothing arrived from the device before', linkLoss: 'the link to the headset was lost',
  headsetTransfer: 'the headset moved the call', activationFailed: 'another device could not be opened',
  callStarted: 'a call began', callEnded: 'the call ended', callHeld: 'the call is on hold', mediaChanged: 'the call changed',
  bridge: 'it stands in while a headset connects', switching: 'between two devices', interruptionBegan: 'something else came first',
  interruptionEnded: 'the interruption is over', sessionActivated: 'the session began', sessionDeactivated: 'the session ended',
  started: 'routing was switched on', stopped: 'routing was switched off',
}

const calls = {
  dialing: 'dialling', alerting: 'ringing there', ringing: 'ringing', waiting: 'waiting', active: 'active', held: 'on hold',
  ended: 'ended',
}

const devices = {
  active: ['carries the call', 'good'], pending: ['connecting', 'warn'], silent: ['silent', 'warn'], available: ['ready', 'good'],
  settling: ['has just connected', ''], waiting: ['waits its turn', ''], penalty: ['rests after failures', 'warn'],
  unsupported: ['not for this call', ''], unavailable: ['not available', ''],
}

const kinds = { speakerphone: 'Loudspeaker', wiredHeadset: 'Wired headset', earpiece: 'Handset', bluetooth: 'Bluetooth headset' }

/** `deviceAwayToday` as `device away today`. */
const spaced = (word) => word.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

export const reasonText = (word) => (word ? reasons[word] ?? spaced(word) : '')
export const callText = (word) => calls[word] ?? spaced(word)
export const kindText = (word) => kinds[word] ?? spaced(word)
/** The name that somebody gave a device; else what it is. */
export const deviceText = ({ device, kind, name }) => (name && name !== device ? name : kindText(kind))
export const plainText = (word) => spaced(word ?? '')

/** @returns {[string, string]} text and tone */
export const deviceState = (word) => devices[word] ?? [spaced(word), '']

/** The other party of a call. */
export const partyText = (call) => call.name || call.number || 'Unknown caller'

/** Seconds as `4:05` or `1:02:03`. */
export function durationText(seconds) {
  const whole = Math.max(0, Math.floor(seconds))
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60]
  if (parts[0] === 0) parts.shift()
  return parts.map((part, index) => (index === 0 ? String(part) : String(part).padStart(2, '0'))).join(':')
}

/** @returns {[string, string]} text and tone of a score of 0 to 100 */
export function qualityText(score) {
  if (score >= 80) return ['good', 'good']
  return score >= 50 ? ['fair', 'warn'] : ['poor', 'bad']
}

/** Strength in dBm of a device nearby. */
export function distanceText(rssi) {
  if (rssi >= -60) return 'near'
  return rssi >= -80 ? 'in the room' : 'far'
}

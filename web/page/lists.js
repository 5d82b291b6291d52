// Rows of the lists: calls, devices, problems, findings, and what pairing found.

import { button, make, setProse, setText, show } from './dom.js'
import {
  callText, deviceState, deviceText, distanceText, durationText, kindText, partyText, plainText, qualityText,
} from './words.js'

/** A word in a frame, with a tone. */
function tag() {
  const element = make('span', { class: 'tag' })
  return {
    element,
    set(text, tone = '') {
      show(element, Boolean(text))
      setText(element, text ?? '')
      element.className = `tag ${tone}`
    },
  }
}

/**
 * @param {(path: string, body?: object) => Promise<any>} post
 * @param {(scope: string) => boolean} allows
 * @param {(call: string) => object|undefined} quality
 */
export function callRow({ post, allows, quality }) {
  return (first) => {
    const [name, state, score] = [make('h3'), tag(), tag()]
    const [time, details] = [make('span', { class: 'number', role: 'timer' }), make('span')]
    const path = `/calls/${first.call}`
    const buttons = {
      answer: button('Answer', () => post(`${path}/answer`), { class: 'main' }),
      hold: button('Hold', () => post(`${path}/hold`)),
      resume: button('Resume', () => post(`${path}/resume`)),
      end: button('End', () => post(`${path}/end`), { class: 'end' }),
    }
    const actions = make('div', { class: 'actions' }, ...Object.values(buttons))
    const element = make(
      'li', {}, make('div', { class: 'row' }, name, make('span', { class: 'tags' }, score.element, state.element)), make('p', { class: 'facts' }, time, details), actions)
    let begin = null
    return {
      element,
      tick(now) {
        // A clock that differs from the box's shows no negative time.
        setText(time, begin ? durationText((now - begin) / 1000) : '')
      },
      update(call) {
        begin = call.startedAt ? Date.parse(call.startedAt) : null
        setText(name, partyText(call))
        for (const [word, shown] of Object.entries(buttons)) shown.setAttribute('aria-label', `${label[word]}: ${partyText(call)}`)
        const tone = call.state === 'active' ? 'good' : call.state === 'ringing' ? 'warn' : ''
        state.set(call.callStatus === 'mediaPending' ? 'no audio yet' : callText(call.state), tone)
        const measured = quality(call.call)
        score.set(measured?.score == null ? '' : `${qualityText(measured.score)[0]} sound`, measured && qualityText(measured.score ?? 0)[1])
        const facts = [call.name && call.number, call.direction, `by ${call.provider}`, lossText(measured)].filter(Boolean)
        setText(details, (begin ? ' · ' : '') + facts.join(' · '))
        const mayAct = allows('calls')
        const rings = call.state === 'ringing' || call.state === 'waiting'
        show(buttons.answer, mayAct && rings)
        show(buttons.hold, mayAct && call.state === 'active')
        show(buttons.resume, mayAct && call.state === 'held')
        show(buttons.end, mayAct)
        setText(buttons.end, rings ? 'Reject' : 'End')
        this.tick(Date.now())
      },
    }
  }
}

const label = { answer: 'Answer', hold: 'Hold', resume: 'Resume', end: 'End or reject' }

function lossText(quality) {
  if (!quality || quality.packets === undefined) return ''
  const loss = quality.packets > 0 ? `${quality.lost} of ${quality.packets} packets lost` : ''
  const made = quality.concealedMilliseconds > 0 ? `${quality.concealedMilliseconds} ms concealed` : ''
  return [loss, made].filter(Boolean).join(', ')
}

/**
 * @param {(device: string) => Promise<any>} choose
 * @param {(address: string) => Promise<any>} connect
 * @param {(scope: string) => boolean} allows
 * @param {() => object} status the present Status
 */
export function deviceRow({ choose, connect, allows, status }) {
  return (first) => {
    const [name, state, roles] = [make('h3'), tag(), tag()]
    const facts = make('span', { class: 'facts' })
    const battery = make('meter', { class: 'short', min: 0, max: 100, low: 20, high: 40, optimum: 100 })
    const charge = make('span', { class: 'row number' }, battery, make('span'))
    const use = button('Use for the call', () => choose(first.device))
    const link = button('Connect', () => connect(first.address))
    const element = make(
      'li', {}, make('div', { class: 'row' }, name, make('span', { class: 'tags' }, roles.element, state.element)),
      make('div', { class: 'row' }, facts, charge), make('div', { class: 'actions' }, use, link))
    return {
      element,
      update(device) {
        const present = status()
        const isActive = present.route === device.device
        setText(name, deviceText(device))
        const [text, tone] = device.available || isActive ? deviceState(device.state) : ['not available', '']
        state.set(text, tone)
        const fits = (word) => word === device.device || (word === device.kind && device.available)
        const isChosen = isChoice(present) && present.selected === device.device
        roles.set(isChosen ? 'chosen' : fits(present.preferred) ? 'preferred' : fits(present.fallback) ? 'fallback' : '')
        const volume = device.speakerVolume == null ? '' : `volume ${device.speakerVolume} of ${device.speakerVolumeMax ?? 15}`
        const codec = isActive && present.codec ? present.codec : device.codecs[0] ?? ''
        setText(facts, [
          kindText(device.kind) !== name.textContent && kindText(device.kind), codec, volume, device.microphoneMuted && 'muted at the headset',
          !device.available && device.unavailableBecause && plainText(device.unavailableBecause),
          device.reconnect && { paging: 'is being called', waiting: 'will be called again', leftAlone: 'left alone', quarantined: 'came and went too often' }[device.reconnect],
        ].filter(Boolean).join(' · '))
        show(charge, device.battery != null)
        if (device.battery != null) {
          battery.value = device.battery
          battery.setAttribute('aria-label', `Battery of ${deviceText(device)}`)
          setText(charge.lastElementChild, `${device.battery} %`)
        }
        for (const action of [use, link]) action.setAttribute('aria-label', `${action.textContent}: ${deviceText(device)}`)
        show(use, allows('route') && device.available && !isActive && present.calls.length > 0)
        show(link, allows('route') && !device.available && Boolean(device.address))
      },
    }
  }
}

/** Whether somebody chose a device that the preference alone would not give. */
export const isChoice = ({ selected, preferred }) => Boolean(selected) && selected !== preferred && selected.split(':')[0] !== preferred

export function problemRow() {
  const [what, remedy] = [make('p'), make('p', { class: 'quiet' })]
  return {
    element: make('li', {}, what, remedy),
    update(problem) {
      setProse(what, problem.what)
      setProse(remedy, problem.remedy)
    },
  }
}

export function findingRow() {
  const [what, severity, seen, remedy, command] = [make('h3'), tag(), make('p', { class: 'quiet' }), make('p'), make('code')]
  const line = make('p', {}, command)
  return {
    element: make('li', {}, make('div', { class: 'row' }, what, severity.element), seen, remedy, line),
    update(finding) {
      setText(what, finding.what)
      severity.set(finding.severity, { fault: 'bad', warning: 'warn' }[finding.severity])
      setProse(seen, finding.seen)
      setProse(remedy, finding.remedy)
      setText(command, finding.command ?? '')
      show(line, Boolean(finding.command))
    },
  }
}

export function foundRow() {
  const [name, near, facts] = [make('h3'), tag(), make('p', { class: 'facts' })]
  return {
    element: make('li', {}, make('div', { class: 'row' }, name, near.element), facts),
    update(found) {
      setText(name, found.name || found.address)
      near.set(distanceText(found.rssi))
      setText(facts, [found.name && found.address, `${found.rssi} dBm`].filter(Boolean).join(' · '))
    },
  }
}

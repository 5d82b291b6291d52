// Elements without markup in text: names of callers and headsets come from others and become text nodes only.

/**
 * Makes an element.
 * @param {string} name
 * @param {Object<string, any>} [attributes] `class`, attributes, `onclick`; nil and false leave one out
 * @param {...(Node|string|number|null|undefined|false)} children
 */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value)
    else element.setAttribute(key, value === true ? '' : value)
  }
  element.append(...children.filter((child) => child || child === 0))
  return element
}

export const find = (id) => document.getElementById(id)

/** Changes a text only where it differs: a screen reader reads each change. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text
}

/** Shows a text of btcalld, whose commands stand between grave accents. */
export function setProse(element, text) {
  if (element.prose === text) return
  element.prose = text
  element.replaceChildren(...text.split('`').map((part, index) => (index % 2 === 1 ? make('code', {}, part) : part)))
}

export function show(element, isShown) {
  if (element.hidden === isShown) element.hidden = !isShown
}

/**
 * Brings the children of a list up to date. Elements of items that stay are kept, with the focus in them.
 * @param {Element} list
 * @param {T[]} items
 * @param {(item: T) => string} key
 * @param {(item: T) => {element: Element, update: (item: T) => void}} begin
 * @template T
 */
export function keepList(list, items, key, begin) {
  const old = list.rows ?? new Map()
  const rows = new Map()
  let place = list.firstElementChild
  for (const item of items) {
    const name = key(item)
    if (rows.has(name)) continue
    const row = old.get(name) ?? begin(item)
    row.update(item)
    rows.set(name, row)
    if (row.element === place) place = place.nextElementSibling
    else list.insertBefore(row.element, place)
  }
  for (const [name, row] of old) if (!rows.has(name)) row.element.remove()
  list.rows = rows
  show(list, rows.size > 0)
}

/** A button that is busy until its action has ended. */
export function button(text, action, attributes = {}) {
  const element = make('button', { type: 'button', ...attributes }, text)
  element.addEventListener('click', () => busy(element, () => action(element)))
  return element
}

export async function busy(element, action) {
  if (element.getAttribute('aria-disabled') === 'true') return
  // Unlike a disabled button this one keeps the focus.
  element.setAttribute('aria-disabled', 'true')
  try { await action() } finally { element.removeAttribute('aria-disabled') }
}

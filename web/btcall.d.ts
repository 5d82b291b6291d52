/** Types of btcall.js. */

export type CallState = 'dialing' | 'alerting' | 'ringing' | 'waiting' | 'active' | 'held' | 'ended'

/** What somebody asked for, at a headset or elsewhere. */
export interface Ask {
  ask: 'answer' | 'end' | 'start' | 'hold' | 'resume' | 'swap' | 'conference' | 'tones' | 'mute' | 'unmute' | 'talk' | 'listen'
  id: number
  /** Id of the call; of `swap`: of the one to hold. */
  call?: string
  /** Of `end`: why. */
  reason?: string
  /** Of `start`: the dialled number. */
  number?: string
  /** Of `tones`. */
  tones?: string
  /** Of `swap`: id of the call to resume. */
  resume?: string
  /** Of `conference`: ids of the calls to join. */
  calls?: string[]
}

/** Carries it out within 4 s, `talk` within half a second. A promise that is rejected refuses it, and the message tells why. */
export type Handler = (call: Call, ask: Ask) => unknown

/**
 * By the word of the ask. The page registers with the capabilities that its handlers cover, and is asked nothing else. Without
 * a handler `end` is granted.
 */
export type Handlers = { [word in Ask['ask']]?: Handler }

export interface Options {
  /** Name of the application, as `btcall calls` shows it. */
  name: string
  /** With the scopes `read` and `provider`. None behind a proxy that adds one. */
  token?: string
  /** Gets the next token: when 80 % of the life of one are over, and when the server refuses one. */
  refresh?: () => string | Promise<string>
  handlers?: Handlers
  /** Schemes of numbers that the page dials, for example `sip`. */
  schemes?: string[]
  /** When the far ends of the page's calls hear the person. Default: as btcalld is configured. */
  talk?: 'off' | 'push' | 'toggle' | 'latch'
  /** Of the server. Default: where the module is from. */
  url?: string | URL
  /** By which the page's calls are found again: 16 to 64 letters, digits, `-` and `_`. Default: one for each tab and name. */
  key?: string
}

/** What the server or btcalld refused. */
export class PhoneError extends Error {
  /** A word of docs/reference/JSON.md#failures, or `closed`, `replaced` (another page has the same key), `badToken`. */
  code: string
  /** The error's name on the bus. */
  busName: string | null
}

/** A call of the page. Event `state` with each new state; `ended` is the last one. */
export class Call extends EventTarget {
  readonly id: string
  readonly state: CallState
  readonly direction: 'incoming' | 'outgoing'
  readonly number: string | null
  readonly name: string | null
  /** Why it ended. */
  readonly reason: string | null
  /** The far end's telephone rings. */
  alerting(): Promise<void>
  /** The page or the far end answered the call, or resumed it. */
  active(): Promise<void>
  /** The page or the far end put the call on hold. */
  held(): Promise<void>
  /** The call is over: `remoteHangUp`, `localHangUp`, `busy`, … */
  ended(reason?: string): Promise<void>
}

/**
 * The page's connection to btcall, as a telephony application. It reconnects, and reports of calls wait meanwhile.
 *
 * Events: `connection` when `state` changes; `call` with a call in `detail` that the page did not report: found again after a reload, taken over from a
 * push, or dialled; `warning` with an error in `detail`; and each event of the server by its word (`present`, `routeChanged`,
 * …) with the message in `detail`.
 */
export class Phone extends EventTarget {
  constructor(options: Options)
  readonly state: 'idle' | 'connecting' | 'open' | 'waiting' | 'closed'
  /** Calls of the page that have not ended, by id. */
  readonly calls: Map<string, Call>
  /** Why it is closed. */
  readonly error: PhoneError | null
  /** Connects and registers, and tries again until `close`. Returns after the first registration. */
  connect(): Promise<void>
  /** Unregisters, which ends the page's calls, and disconnects. */
  close(): Promise<void>
  /** Reports a call that arrives. The number may be empty. */
  incoming(number: string, more?: { name?: string; routes?: string[] }): Promise<Call>
  /** Reports a call that the page makes. */
  outgoing(number: string, more?: { name?: string; state?: 'dialing' | 'alerting'; routes?: string[] }): Promise<Call>
  /** Requests events `levels`, or no more. */
  watch(levels: boolean): Promise<void>
  /** Sends any request once the page is registered, for example `revokeTalk`. */
  request(word: string, fields?: object): Promise<any>
}

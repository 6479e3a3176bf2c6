import { until } from '../../support/until.ts';
import { type Envelope, parseFrame } from '../skeleton.ts';
import { type EventName, type Payload, payloads } from './shapes.ts';

export type KnownEvent = {
  [Name in EventName]: Omit<Envelope, 'event' | 'payload'> & { event: Name; payload: Payload<Name> };
}[EventName];
type EventOf<Name extends EventName> = Extract<KnownEvent, { event: Name }>;

/** How a client opens the stream of a thread. */
export interface Opening {
  url: string;
  headers: Record<string, string>;
  /** the event behind which this connection begins */
  since: number;
}

/**
 * Follows the events of one thread over every break, as clients do: it takes each event once. An event that comes twice
 * and is not the same, one that is out of order or unknown, a gap, and a frame that is not three lines are failures.
 */
export class Follower {
  readonly events: KnownEvent[] = [];
  connections = 0;
  readonly #texts = new Map<number, string>();
  readonly #opening: (last: number) => Opening;
  readonly #taken: (event: KnownEvent) => void;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;

  /** @param opening what to ask for, when the event `last` (0: none) was the last one that came */
  constructor(opening: (last: number) => Opening, taken: (event: KnownEvent) => void = () => {}) {
    this.#opening = opening;
    this.#taken = taken;
    this.#running = this.#run();
    // told by `reached` and `close`
    this.#running.catch(() => {});
  }

  get texts(): string[] {
    return [...this.#texts.values()];
  }

  /** Waits for the `times`th event of a name after the event `after`. */
  async reached<Name extends EventName>(name: Name, times = 1, after = 0): Promise<EventOf<Name>> {
    const found = () =>
      this.events.filter((event): event is EventOf<Name> => event.event === name && event.seq > after)[times - 1];
    const failed = this.#running.then(() => Promise.reject(new Error('the stream was closed')));
    return await Promise.race([until(`${times} × ${name}`, found), failed]);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      const { url, headers, since } = this.#opening(this.events.at(-1)?.seq ?? 0);
      try {
        const response = await this.#open(url, headers);
        if (response !== 'closed') await this.#read(response, since);
      } catch (error) {
        // a killed server ends the response in the middle, which says nothing about the events
        if (!this.#closing.signal.aborted && !(error instanceof TypeError && error.message === 'terminated'))
          throw error;
      }
    }
  }

  #open(url: string, headers: Record<string, string>): Promise<Response | 'closed'> {
    return until(`the stream ${url} opens`, async () => {
      if (this.#closing.signal.aborted) return 'closed';
      const response = await fetch(url, {
        headers: { Accept: 'text/event-stream', ...headers },
        signal: this.#closing.signal,
      });
      if (response.status !== 200 || response.headers.get('content-type') !== 'text/event-stream')
        throw new Error(`${url} answered ${response.status}`);
      this.connections += 1;
      return response;
    });
  }

  async #read(response: Response, since: number): Promise<void> {
    let previous = since;
    let text = '';
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      const frames = (text + chunk).split('\n\n');
      text = frames.pop()!;
      for (const frame of frames) previous = this.#take(`${frame}\n\n`, previous);
    }
  }

  /** The `seq` of the event, or `previous` for a comment. */
  #take(frame: string, previous: number): number {
    const envelope = parseFrame(frame);
    if (!envelope) return previous;
    const { seq, event, schema_version: version, previous_seq: said } = envelope;
    if (event === 'stream.end' && seq === previous) return previous;
    if (version !== 1) throw new Error(`the envelope of ${seq} has version ${version}`);
    if (said !== previous || seq <= previous)
      throw new Error(`after event ${previous} comes ${seq}, which follows ${said}`);
    const known = this.#texts.get(seq);
    if (known !== undefined && known !== frame)
      throw new Error(`event ${seq} came twice, and not as the same: ${known} ${frame}`);
    if (known !== undefined) return seq;
    if (seq <= (this.events.at(-1)?.seq ?? 0)) throw new Error(`event ${seq} was left out before`);
    if (!Object.hasOwn(payloads, event)) throw new Error(`no client knows the event ${event}`);
    const taken = { ...envelope, payload: payloads[event as EventName].parse(envelope.payload) } as KnownEvent;
    this.#texts.set(seq, frame);
    this.events.push(taken);
    this.#taken(taken);
    return seq;
  }
}

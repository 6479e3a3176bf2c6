import { callsThen } from '../support/app.ts';
import { until } from '../support/until.ts';
import type { Contact } from '../support/whatsapp/contact.ts';
import type { ReceivedMessage } from '../support/whatsapp/handset.ts';

/** Far above any recovery, so that only what is lost reaches it. */
const PATIENCE_MS = 120_000;

/**
 * Somebody with a phone. Each message that the phone shows belongs to one sentence of the story: what is left at the
 * end was doubled.
 */
export class Person {
  readonly contact: Contact;
  readonly #told = new Set<string>();

  constructor(contact: Contact) {
    this.contact = contact;
  }

  says(text: string): Promise<unknown> {
    return this.contact.send(text);
  }

  /** Asks for calls of tools; the scripted model makes them, and says the end. */
  asks(...asked: Parameters<typeof callsThen>): Promise<unknown> {
    return this.says(callsThen(...asked));
  }

  /** The next message that no sentence had yet, once there is one like this. */
  async sees(like: RegExp, ms = PATIENCE_MS): Promise<ReceivedMessage> {
    const found = await until(
      `the phone shows ${like}`,
      () => this.unclaimed().find(({ shown }) => like.test(shown.text)),
      ms,
    ).catch((error: Error) => {
      const left = this.unclaimed().map(({ shown }) => shown.text);
      throw new Error(`${error.message}; what it shows besides: ${JSON.stringify(left, null, 1)}`);
    });
    this.#told.add(found.id);
    return found;
  }

  /** What the phone shows now belongs to no later sentence. */
  forgets(): void {
    for (const { id } of this.unclaimed()) this.#told.add(id);
  }

  likes({ id }: { id: string }): Promise<unknown> {
    return this.contact.react(id, '👍');
  }

  /** Messages from Fetch, other than edits and reactions, that belong to no sentence yet. */
  unclaimed(): ReceivedMessage[] {
    const visible = ['text', 'image', 'video', 'audio', 'document', 'poll'];
    return this.contact.received.filter(
      ({ by, kind, id }) => by === 'client' && visible.includes(kind) && !this.#told.has(id),
    );
  }
}

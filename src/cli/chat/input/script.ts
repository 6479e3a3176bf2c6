import { type ChatSession, send } from './session.ts';

/** Commands about what runs now; they do not wait for its end. */
const AT_ONCE = /^\/?(stop|status)$/i;
const LOOK_MS = 50;
/** how often the server is asked whether a question is open, while a turn runs; ms */
const ASK_MS = 500;

/**
 * A chat without a terminal. It sends a line when the previous one is done (a turn ended, or a reply or question came),
 * so that `printf 'deploy\n1\n' | fetch chat` answers the question. After the last line it leaves.
 */
export class ScriptedChat {
  readonly #session: ChatSession;
  readonly #waiting: string[] = [];
  #busy = false;
  /** there are no more lines */
  #ended = false;
  #left = false;
  #sending: Promise<boolean> = Promise.resolve(true);
  #urgent: Promise<void> = Promise.resolve();

  constructor(session: ChatSession) {
    this.#session = session;
  }

  line(raw: string): void {
    const text = raw.trim();
    if (text === '' || this.#left) return;
    if (this.#busy && AT_ONCE.test(text)) {
      this.#urgent = Promise.all([this.#urgent, this.#sending]).then(() => this.#sayAndSettle(text));
    } else {
      this.#waiting.push(text);
      void this.#pump();
    }
  }

  end(): void {
    this.#ended = true;
    void this.#pump();
  }

  async #pump(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    const { running } = this.#session.view;
    for (let text = this.#waiting.shift(); text !== undefined && !this.#left; text = this.#waiting.shift()) {
      if (text === '/quit' || text === '/exit') this.#finish();
      else await this.#sayAndSettle(text);
    }
    await this.#urgent;
    // an earlier turn is still answered, and a question stays open
    while (
      this.#ended &&
      !this.#left &&
      this.#waiting.length === 0 &&
      running.turns.size > 0 &&
      !(await this.#waitsForPerson())
    )
      await pause(ASK_MS);
    this.#busy = false;
    if (this.#waiting.length > 0) return this.#pump();
    if (this.#ended && !this.#left) this.#finish();
  }

  async #sayAndSettle(text: string): Promise<void> {
    const before = this.#session.view.progress;
    this.#sending = send(this.#session, text);
    if (await this.#sending) await this.#settled(before);
  }

  /** Waits until something came back, and either no turn runs or the person is asked. */
  async #settled(before: number): Promise<void> {
    const { view } = this.#session;
    for (let asked = 0; !this.#left; await pause(LOOK_MS)) {
      if (view.progress === before) continue;
      if (view.running.turns.size === 0) return;
      if (Date.now() - asked < ASK_MS) continue;
      asked = Date.now();
      if (await this.#waitsForPerson()) return;
    }
  }

  /** The server knows whether a question is open, the view whether the person has seen it. */
  async #waitsForPerson(): Promise<boolean> {
    const { api, threadId, view, signal } = this.#session;
    const now = await api.detail(threadId, signal).catch(() => null);
    const open = [...(now?.pending_user_inputs ?? []), ...(now?.pending_approvals ?? [])];
    return open.length > 0 && open.every((question) => view.running.isOpen(question.id));
  }

  #finish(): void {
    this.#left = true;
    this.#session.leave();
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

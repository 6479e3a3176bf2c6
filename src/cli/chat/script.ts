import { type ChatSession, send } from './sending.ts';

/** Commands about what runs now; they do not wait for its end. */
const AT_ONCE = /^\/?(stop|status)$/i;
const LOOK_MS = 50;
/** how often the server is asked whether a question is open, while a turn runs; ms */
const ASK_MS = 500;

/**
 * A chat without a terminal. It sends a line when the previous one is done (a turn ended, or a reply or question came), so that `printf 'deploy\n1\n' | fetch
 * chat` answers the question. After the last line it leaves.
 */
export function scripted(session: ChatSession): { line: (text: string) => void; end: () => void } {
  const { api, threadId, view, signal, leave } = session;
  const waiting: string[] = [];
  let busy = false;
  let ended = false;
  let left = false;
  let sending: Promise<boolean> = Promise.resolve(true);
  let urgent: Promise<void> = Promise.resolve();

  /** Waits until something came back, and either no turn runs or the person is asked. */
  const settled = async (before: number): Promise<void> => {
    for (let asked = 0; !left; await pause(LOOK_MS)) {
      if (view.progress === before) continue;
      if (view.running.turns.size === 0) return;
      if (Date.now() - asked < ASK_MS) continue;
      asked = Date.now();
      if (await waitsForPerson()) return;
    }
  };
  /** The server knows whether a question is open, the view whether the person has seen it. */
  const waitsForPerson = async (): Promise<boolean> => {
    const now = await api.detail(threadId, signal).catch(() => null);
    const open = [...(now?.pending_user_inputs ?? []), ...(now?.pending_approvals ?? [])];
    return open.length > 0 && open.every((question) => view.running.isOpen(question.id));
  };
  const finish = () => {
    left = true;
    leave();
  };
  const sayAndSettle = async (text: string): Promise<void> => {
    const before = view.progress;
    sending = send(session, text);
    if (await sending) await settled(before);
  };

  const pump = async (): Promise<void> => {
    if (busy) return;
    busy = true;
    for (let text = waiting.shift(); text !== undefined && !left; text = waiting.shift()) {
      if (text === '/quit' || text === '/exit') finish();
      else await sayAndSettle(text);
    }
    await urgent;
    // an earlier turn is still answered, and a question stays open
    while (ended && !left && waiting.length === 0 && view.running.turns.size > 0 && !(await waitsForPerson())) await pause(ASK_MS);
    busy = false;
    if (waiting.length > 0) return pump();
    if (ended && !left) finish();
  };

  return {
    line(raw) {
      const text = raw.trim();
      if (text === '' || left) return;
      if (busy && AT_ONCE.test(text)) {
        urgent = Promise.all([urgent, sending]).then(() => sayAndSettle(text));
      } else {
        waiting.push(text);
        void pump();
      }
    },
    end() {
      ended = true;
      void pump();
    },
  };
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

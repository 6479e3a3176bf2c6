import { MINUTE } from '../../domain/time.ts';
import type { WorkspaceSession } from './workspace-session.ts';

/** The steps of a turn, and mostly the next message, come within this time. */
const KEPT_MS = 2 * MINUTE;
/** Each holds 29 MB. */
const MOST = 4;

/**
 * Sessions of this process that wait for another operation, by what they can be used for. The one that waits longest
 * ends first.
 */
export class KeptSessions {
  readonly #sessions = new Map<string, { session: WorkspaceSession; timer: NodeJS.Timeout }>();

  keep(use: string, session: WorkspaceSession): void {
    if (session.spent || this.#sessions.has(use)) {
      leave(session);
      return;
    }
    const timer = setTimeout(() => leave(this.take(use)), KEPT_MS);
    timer.unref();
    this.#sessions.set(use, { session, timer });
    if (this.#sessions.size > MOST) leave(this.take(this.#sessions.keys().next().value!));
  }

  /** The caller keeps it again, or closes it. */
  take(use: string): WorkspaceSession | undefined {
    const kept = this.#sessions.get(use);
    if (!kept) return undefined;
    clearTimeout(kept.timer);
    this.#sessions.delete(use);
    if (!kept.session.spent) return kept.session;
    leave(kept.session);
    return undefined;
  }

  async close(): Promise<void> {
    const waiting = [...this.#sessions.keys()].map((use) => this.take(use));
    await Promise.allSettled(waiting.map((session) => session?.close()));
  }
}

/** An engine that went away cannot be asked; `sweep` finds the container later. */
export function leave(session: WorkspaceSession | undefined): void {
  session?.close().catch(() => {});
}

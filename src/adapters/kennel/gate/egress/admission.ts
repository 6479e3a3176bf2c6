import { setTimeout as pause } from 'node:timers/promises';
import { egressWords } from '../../../../domain/tasks/egress.ts';
import { HOUR } from '../../../../domain/time.ts';
import { type EgressRule, ruleFor } from '../../../../store/kennel/egress-rules.ts';
import type { AllowList, Target } from './allow-list.ts';

/** Where the rules of a task are, and where it asks for more. */
export interface AdmissionStore {
  /** the latest first */
  rules(): Promise<EgressRule[]>;
  /** records that a person must be asked; false when the task has asked for too many hosts */
  ask(target: Target, tool: string | null): Promise<boolean>;
}

/**
 * `ruled`: it is open because a person said so, and ends when they take it back. `waited`: for that answer. `words`:
 * for the agent.
 */
type Admitted = { open: true; ruled: boolean; waited?: true } | { open: false; status: string; words: string };

/** Decides whether one task may reach a host. A host without a rule waits here while a person is asked. */
export interface Admission {
  /** `left`: aborted when the client is gone. Never rejects. */
  admit(target: Target, tool: string | null, left: AbortSignal): Promise<Admitted>;
  /**
   * Reads the rules again. Returns whether an open tunnel may stay: an expired one-time permission does not close it.
   * Without the database the last known rules hold.
   */
  reviewed(): Promise<(target: Target) => boolean>;
}

interface AdmissionOptions {
  listed: () => AllowList;
  /** null: nobody is asked, and what is not listed is refused */
  store: AdmissionStore | null;
  /** how long a rule that is known stays known without a look, and between two looks of those that wait; ms */
  everyMs?: number;
  /** the longest wait for a person, ms */
  holdMs?: number;
}

const MAX_HELD = 64;
const HOLD_MS = HOUR;
const OPEN: Admitted = { open: true, ruled: false };

export function createAdmission({ listed, store, everyMs = 500, holdMs = HOLD_MS }: AdmissionOptions): Admission {
  let rules: EgressRule[] = [];
  let readAt = 0;
  let reading: Promise<void> | null = null;
  let held = 0;

  const read = (): Promise<void> => {
    reading ??= (async () => {
      try {
        rules = await store!.rules();
        readAt = Date.now();
      } finally {
        reading = null;
      }
    })();
    return reading;
  };
  const fresh = async (): Promise<void> => {
    if (Date.now() - readAt >= everyMs) await read();
  };

  function known(target: Target): Admitted | null {
    if (listed()(target)) return OPEN;
    const rule = ruleFor(rules, target);
    if (!rule) return null;
    return rule.allowed
      ? { open: true, ruled: true }
      : refused('403 Not allowed by the person', egressWords.notAllowed(target));
  }

  /** Waits for the answer as long as the client does. */
  async function answer(target: Target, left: AbortSignal): Promise<Admitted> {
    for (const until = Date.now() + holdMs; Date.now() < until; ) {
      try {
        await pause(everyMs, undefined, { signal: left, ref: false });
      } catch {
        return refused('499 Client left', '');
      }
      // a store that is away for a while does not end the wait
      await fresh().catch(() => {});
      const decided = known(target);
      if (decided) return decided.open ? { ...decided, waited: true } : decided;
    }
    return refused('403 No answer yet', egressWords.notYet(target));
  }

  return {
    async admit(target, tool, left) {
      if (listed()(target)) return OPEN;
      if (!store) return refused('403 Not allowed', egressWords.notAllowed(target));
      try {
        await fresh();
        const decided = known(target);
        if (decided) return decided;
        if (held >= MAX_HELD) return refused('503 Too many connections', egressWords.notYet(target));
        if (!(await store.ask(target, tool))) return refused('403 Too many hosts', egressWords.tooMany(target));
      } catch {
        return refused('503 Service Unavailable', egressWords.noStore(target));
      }
      held += 1;
      try {
        return await answer(target, left);
      } finally {
        held -= 1;
      }
    },
    async reviewed() {
      if (store) await read().catch(() => {});
      const allowed = new Set(rules.filter((rule, at) => rule.allowed && firstFor(rules, rule) === at).map(keyOf));
      return (target) => listed()(target) || allowed.has(keyOf(target));
    },
  };
}

const refused = (status: string, words: string): Admitted => ({ open: false, status, words });
const keyOf = ({ host, port }: Target): string => `${host}:${port}`;
const firstFor = (rules: readonly EgressRule[], at: Target): number =>
  rules.findIndex(({ host, port }) => host === at.host && port === at.port);

import { setTimeout as pause } from 'node:timers/promises';
import { readAccount } from '../../src/store/whatsapp/account.ts';
import { type Copy, PAIRED, type PairedRole, type Pairs } from '../support/pairs.ts';
import { until } from '../support/until.ts';
import type { Random } from './random.ts';

/** `frozen`: the gateway with WhatsApp is stopped with SIGSTOP until the other one has taken over, and then goes on. */
export type PairVictim = PairedRole | 'frozen';

export interface PairKill {
  victim: PairVictim;
  /** which of the two */
  at: number;
  /** ms from the kill to the end of a message that was sent right after it */
  answeredMs: number;
  /** of the gateway that held WhatsApp: ms until the other one was connected; null of all others */
  tookOverMs: number | null;
}

const SERVES_MS = 90_000;
/** The lease of ten seconds, a look a second, a connection. */
const TAKES_OVER_MS = 60_000;

/** The two of a role are killed in turn, and the next one only when this one serves again: there is always one. */
export function createPairKiller(pairs: Pairs, random: Random, probe: () => Promise<void>) {
  const last = new Map<PairedRole, number>();

  const strike = async (victim: PairVictim): Promise<PairKill> => {
    const role = victim === 'frozen' ? 'gateway' : victim;
    const holder = role === 'gateway' ? await holderOf(pairs) : null;
    const copy = holder ?? pairs.copy(role, 1 - (last.get(role) ?? random.between(0, 1)));
    last.set(role, copy.at);
    const pid = await until(`${role} ${copy.at} runs`, () => copy.ready() && copy.pid(), SERVES_MS);
    const begun = Date.now();
    process.kill(pid, victim === 'frozen' ? 'SIGSTOP' : 'SIGKILL');
    const answered = probe().then(() => Date.now() - begun);
    const tookOverMs = holder ? await tookOver(pairs, begun, victim === 'frozen' ? copy.at : null) : null;
    if (victim === 'frozen') process.kill(pid, 'SIGCONT');
    else await until(`${role} ${copy.at} serves again`, () => copy.ready() && copy.pid() !== pid, SERVES_MS);
    return { victim, at: copy.at, answeredMs: await answered, tookOverMs };
  };

  return {
    strike,
    /** Any of the roles, after a moment; `frozen` is one in ten. */
    async strikeAny(): Promise<PairKill> {
      await pause(random.between(0, 1_000));
      return await strike(random.next() < 0.1 ? 'frozen' : random.pick(PAIRED));
    },
  };
}

/** The gateway whose process is on record as the holder of the WhatsApp account. */
async function holderOf(pairs: Pairs): Promise<Copy> {
  return await until(
    'a gateway holds WhatsApp',
    async () => {
      const holder = (await readAccount(pairs.store.db, 'default'))?.lease_holder;
      return pairs.copies.find(
        (copy) => copy.role === 'gateway' && copy.ready() && holder?.split('/')[1] === String(copy.pid()),
      );
    },
    TAKES_OVER_MS,
  );
}

/** Ms until WhatsApp was connected after `begun`, by a gateway that is not `frozen`. */
async function tookOver(pairs: Pairs, begun: number, frozen: number | null): Promise<number> {
  const row = await until(
    'the other gateway is connected to WhatsApp',
    async () => {
      const account = await readAccount(pairs.store.db, 'default');
      if (account?.state !== 'authenticated' || !account.connected_at || account.connected_at.getTime() < begun)
        return null;
      return frozen === null || (await holderOf(pairs)).at !== frozen ? account : null;
    },
    TAKES_OVER_MS,
  );
  return row.connected_at!.getTime() - begun;
}

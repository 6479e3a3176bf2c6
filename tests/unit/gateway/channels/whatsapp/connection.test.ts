import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createSealer, WrongKey } from '../../../../../src/adapters/encryption.ts';
import { viewOf } from '../../../../../src/api/status/whatsapp.ts';
import { numberMode } from '../../../../../src/domain/whatsapp/identity.ts';
import { announcedVersion } from '../../../../../src/gateway/channels/whatsapp/library/baileys.ts';
import { withoutSecrets } from '../../../../../src/gateway/channels/whatsapp/library/silence.ts';
import { withSecret } from '../../../../../src/gateway/channels/whatsapp/link/pairing.ts';
import { baileysCache, checkAddress } from '../../../../../src/gateway/channels/whatsapp/link/socket.ts';
import { startWatchdog } from '../../../../../src/gateway/channels/whatsapp/link/watchdog.ts';
import { createArrivalOrder } from '../../../../../src/gateway/channels/whatsapp/ratchet/arrival-order.ts';
import type { WaAccount } from '../../../../../src/store/whatsapp/account.ts';
import { until } from '../../../../support/until.ts';

const key = () => randomBytes(32).toString('hex');

describe('encryption of credentials', () => {
  it('gives back what was sealed, and never the same bytes twice', () => {
    const sealer = createSealer(key());
    const [a, b] = [sealer.seal('default/creds', 'secret ü'), sealer.seal('default/creds', 'secret ü')];
    expect([sealer.open('default/creds', a), sealer.open('default/creds', b)]).toEqual(['secret ü', 'secret ü']);
    expect(a.equals(b)).toBe(false);
    expect(a.includes('secret')).toBe(false);
  });

  it('refuses a row that was put in another place', () => {
    const sealer = createSealer(key());
    const data = sealer.seal('default/session/1', '{}');
    expect(() => sealer.open('default/session/2', data)).toThrow(WrongKey);
    expect(() => sealer.open('other/session/1', data)).toThrow(WrongKey);
  });

  it('refuses changed bytes, cut bytes and another key, and says what to do', () => {
    const sealer = createSealer(key());
    const data = sealer.seal('p', 'text');
    for (let at = 0; at < data.length; at++) {
      const changed = Buffer.from(data);
      changed[at]! ^= 1;
      expect(() => sealer.open('p', changed)).toThrow(WrongKey);
    }
    for (const length of [0, 1, 20, data.length - 1])
      expect(() => sealer.open('p', data.subarray(0, length))).toThrow(WrongKey);
    expect(() => createSealer(key()).open('p', data)).toThrow(/FETCH_ENCRYPTION_KEY/);
  });
});

describe('where it may connect to', () => {
  const settings = {
    WA_WEB_SOCKET_URL: undefined,
    WA_ALLOW_INSECURE: false,
    WA_NOISE_ROOT_KEY: undefined,
    WA_MEDIA_HOST: undefined,
  };

  it('refuses an address that can be read on the way', () => {
    expect(() => checkAddress({ ...settings, WA_WEB_SOCKET_URL: 'ws://127.0.0.1:1/ws/chat' })).toThrow(/wss:/);
  });

  it('shouts when that is allowed for a test, and says nothing for WhatsApp itself', () => {
    expect(checkAddress(settings)).toEqual([]);
    const warnings = checkAddress({
      ...settings,
      WA_WEB_SOCKET_URL: 'ws://127.0.0.1:1',
      WA_ALLOW_INSECURE: true,
      WA_NOISE_ROOT_KEY: 'ab'.repeat(32),
    });
    expect(warnings.filter((line) => line.startsWith('INSECURE'))).toHaveLength(2);
  });
});

describe('pairing', () => {
  it('replaces only the secret of a QR', () => {
    expect(withSecret('https://wa.me/settings/linked_devices#ref,noise,identity,old,1', 'new')).toBe(
      'https://wa.me/settings/linked_devices#ref,noise,identity,new,1',
    );
  });

  it("takes the account for the owner's own number unless another is named or chosen", () => {
    const own = '491701234567@s.whatsapp.net';
    const none = { WHATSAPP_NUMBER: undefined, OWNER_PHONE_NUMBER: undefined };
    expect(numberMode(none, null, own)).toBe('shared');
    expect(numberMode({ ...none, OWNER_PHONE_NUMBER: '491701234567' }, null, own)).toBe('shared');
    expect(numberMode({ ...none, OWNER_PHONE_NUMBER: '15550002222' }, null, own)).toBe('dedicated');
    expect(numberMode({ ...none, OWNER_PHONE_NUMBER: '15550002222' }, 'shared', own)).toBe('shared');
    expect(numberMode({ ...none, WHATSAPP_NUMBER: 'dedicated' }, 'shared', own)).toBe('dedicated');
  });
});

describe('the announced version', () => {
  it('is the configured one, else a newer accepted one, else the bundled one', () => {
    expect(announcedVersion('2.3000.5', '2.3000.9', [2, 3000, 7])).toBe('2.3000.5');
    expect(announcedVersion(undefined, '2.3000.9', [2, 3000, 7])).toBe('2.3000.9');
    expect(announcedVersion(undefined, '2.3000.6', [2, 3000, 7])).toBeNull();
    expect(announcedVersion(undefined, null, [2, 3000, 7])).toBeNull();
  });
});

describe('what is shown of an account', () => {
  const row = (fields: Partial<WaAccount>): WaAccount =>
    ({
      account: 'default',
      wanted: 'on',
      state: 'authenticated',
      lease_until: new Date(Date.now() + 5_000),
      last_error: null,
      jid: '1555@s.whatsapp.net',
      ...fields,
    }) as WaAccount;

  it('is the state of the gateway that holds the lease', () => {
    expect(viewOf(row({}))).toMatchObject({ state: 'authenticated', phone: '1555', lastError: null });
  });

  it('does not pass a dead gateway off as connected, nor an old QR as one to scan', () => {
    const dead = { lease_until: new Date(Date.now() - 60_000) };
    expect(viewOf(row(dead))).toMatchObject({ state: 'initializing', lastError: expect.stringContaining('gateway') });
    expect(viewOf(row({ ...dead, state: 'qr_pending', qr: 'text' }))).toMatchObject({ qr: null });
  });
});

describe('caches', () => {
  it('forget what was not used for longest', () => {
    const cache = baileysCache(2, 60_000);
    cache.set('a', 1);
    cache.set('b', 2);
    cache.get('a');
    cache.set('c', 3);
    expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([1, undefined, 3]);
  });

  it('of Baileys lose entries that are too old', async () => {
    const cache = baileysCache(10, 1);
    cache.set('a', 1);
    await pause(10);
    expect(cache.get('a')).toBeUndefined();
  });
});

describe('the order of arrival', () => {
  const record = (patienceMs?: number) => {
    const order = createArrivalOrder(patienceMs);
    const seen: string[] = [];
    return {
      order,
      seen,
      pass: (chat: string, key: string, queued = false) => order.pass(chat, [key], queued, () => void seen.push(key)),
    };
  };

  it('holds a message back until the one before it in its chat is settled, and no other chat', async () => {
    const { order, seen, pass } = record();
    pass('a', 'a1');
    pass('a', 'a2');
    pass('a', 'a3');
    pass('b', 'b1');
    expect(seen).toEqual(['a1', 'b1']);
    order.settled('a1');
    await until('the next went out', () => seen.length === 3, 1_000);
    order.settled('a2');
    await until('the last went out', () => seen.length === 4, 1_000);
    expect(seen).toEqual(['a1', 'b1', 'a2', 'a3']);
  });

  it('lets a live message wait for the queue from an outage', async () => {
    const { order, seen, pass } = record();
    for (const key of ['q1', 'q2', 'q3']) pass('a', key, true);
    pass('a', 'live');
    expect(seen).toEqual(['q1', 'q2', 'q3']);
    for (const key of ['q2', 'q1', 'q3']) order.settled(key);
    await until('the live one went out', () => seen.length === 4, 1_000);
  });

  it('goes on when a message is never settled', async () => {
    const { seen, pass } = record(20);
    pass('a', 'a1');
    pass('a', 'a2');
    await until('the next went out', () => seen.length === 2, 1_000);
  });
});

describe('the watchdog', () => {
  const watch = (
    health: { waitingSince: number | null; lastSettledAt: number; lastStanzaAt: number },
    probe: () => Promise<void> = async () => {},
  ) => {
    const seen: string[] = [];
    const silence = { reconnections: 0 };
    const options = {
      health: () => health,
      probe,
      reconnect: () => seen.push('reconnect'),
      exit: (reason: string) => seen.push(`exit: ${reason}`),
      silence,
    };
    const log = { info() {} } as never;
    const start = (stuckMs: number, silentMs: number) =>
      startWatchdog({ ...options, log, times: { checkMs: 1, stuckMs, silentMs } });
    return { seen, silence, start };
  };

  it('ends the process when a message arrived and nothing was decrypted since', async () => {
    const { seen, start } = watch({
      waitingSince: Date.now() - 1_000,
      lastSettledAt: Date.now() - 1_000,
      lastStanzaAt: Date.now(),
    });
    const stop = start(500, 60_000);
    await until('it gave up', () => seen.length > 0, 2_000);
    stop();
    expect(seen[0]).toMatch(/deaf/);
  });

  it('is patient while a long queue is worked off', async () => {
    const { seen, start } = watch({
      waitingSince: Date.now() - 100_000,
      lastSettledAt: Date.now(),
      lastStanzaAt: Date.now(),
    });
    let checks = 0;
    const stop = start(60_000, 60_000);
    await until('it looked often', () => ++checks > 5, 2_000);
    stop();
    expect(seen).toEqual([]);
  });

  it('tries the path after a long silence, and renews the connection when it is sound', async () => {
    const { seen, silence, start } = watch({ waitingSince: null, lastSettledAt: 0, lastStanzaAt: 0 });
    const stop = start(60_000, 5);
    await until('it renewed', () => seen.length > 0, 2_000);
    stop();
    expect([seen[0], silence.reconnections]).toEqual(['reconnect', 1]);
  });

  it('ends the process when that test fails', async () => {
    const { seen, start } = watch({ waitingSince: null, lastSettledAt: 0, lastStanzaAt: 0 }, async () => {
      throw new Error('no answer');
    });
    const stop = start(60_000, 5);
    await until('it gave up', () => seen.length > 0, 2_000);
    stop();
    expect(seen[0]).toMatch(/no answer/);
  });
});

describe('private keys', () => {
  it('are not in what remains of a console line', () => {
    expect(withoutSecrets(`Closing session ${randomBytes(32).toString('base64')} of 491701234567@s.whatsapp.net`)).toBe(
      'Closing session … of …@s.whatsapp.net',
    );
  });

  it('are printed by libsignal itself when a session is closed, and not with our console', async () => {
    const script = new URL('../../../../support/whatsapp/close-session.ts', import.meta.url).pathname;
    const run = async (mode: 'plain' | 'silenced'): Promise<string> => {
      const child = fork(script, [mode], { silent: true });
      let output = '';
      child.stdout!.on('data', (chunk: Buffer) => (output += chunk));
      child.stderr!.on('data', (chunk: Buffer) => (output += chunk));
      await new Promise((resolve) => child.once('close', resolve));
      return output;
    };
    expect(await run('plain')).toMatch(/privKey/);
    const ours = await run('silenced');
    expect(ours).toContain('Closing session');
    expect(ours).not.toMatch(/privKey|rootKey|Buffer/);
  });
});

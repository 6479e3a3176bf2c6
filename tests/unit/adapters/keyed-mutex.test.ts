import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { KeyedMutex } from '../../../src/adapters/keyed-mutex.ts';

it('runs the work of a key one at a time and in order, also after a failure, and that of another key beside it', async () => {
  const mutex = new KeyedMutex();
  const seen: string[] = [];
  const work =
    (name: string, ms: number, fails = false) =>
    async () => {
      seen.push(`${name} begins`);
      await pause(ms);
      seen.push(`${name} ends`);
      if (fails) throw new Error(name);
      return name;
    };
  const all = [
    mutex.run('a', work('first', 20, true)),
    mutex.run('a', work('second', 1)),
    mutex.run('b', work('other', 1)),
  ];
  expect((await Promise.allSettled(all)).map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
  expect(seen.filter((line) => !line.startsWith('other'))).toEqual([
    'first begins',
    'first ends',
    'second begins',
    'second ends',
  ]);
  expect(seen.indexOf('other ends')).toBeLessThan(seen.indexOf('first ends'));
});

it('lets who waits give up, and the next one does not wait for them', async () => {
  const mutex = new KeyedMutex();
  const first = Promise.withResolvers<void>();
  const gone = new AbortController();
  const running = mutex.run('a', () => first.promise);
  const waiting = mutex.run('a', async () => 'never', gone.signal);
  const last = mutex.run('a', async () => 'last');
  gone.abort(new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
  first.resolve();
  await running;
  expect(await last).toBe('last');
});

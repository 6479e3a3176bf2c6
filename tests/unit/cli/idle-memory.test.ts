import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';

const IDLE_MEMORY = new URL('../../../bin/idle-memory.js', import.meta.url).href;
/** The flags under which V8 takes compiled code, as one number. */
const flags = (...args: string[]): string =>
  execFileSync(process.execPath, [...args, '-p', 'require("node:v8").cachedDataVersionTag()'], { encoding: 'utf8' });

it('a role that gives memory back takes the compiled code of Node, and that of the last start', () => {
  expect(flags(`--import=${IDLE_MEMORY}`)).toBe(flags());
});

/** Says after each of `seconds` of a role at rest whether 40 MB that it had used are still in its heap. */
const holds = (...seconds: number[]): boolean[] => {
  const script = `
    import { mock } from 'node:test';
    const rest = setTimeout;
    mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
    await import(${JSON.stringify(IDLE_MEMORY)});
    new Array(5_000_000).fill(0.5);
    let at = 0;
    const held = [];
    for (const second of ${JSON.stringify(seconds)}) {
      for (; at < second; at += 5) {
        // a role at rest leaves its processor idle
        await new Promise((done) => rest(done, 100));
        mock.timers.tick(5_000);
      }
      held.push(process.memoryUsage().heapUsed > 30e6);
    }
    console.log(JSON.stringify(held));`;
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' });
  return JSON.parse(output) as boolean[];
};

it('a role gives memory back once its compiled code is written down, and works for nothing before', () => {
  expect(holds(20, 40)).toEqual([true, false]);
});

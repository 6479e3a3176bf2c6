import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';

const IDLE_MEMORY = new URL('../../../bin/idle-memory.js', import.meta.url).href;
/** The flags under which V8 takes compiled code, as one number. */
const flags = (...args: string[]): string =>
  execFileSync(process.execPath, [...args, '-p', 'require("node:v8").cachedDataVersionTag()'], { encoding: 'utf8' });

it('a role that gives memory back takes the compiled code of Node, and that of the last start', () => {
  expect(flags(`--import=${IDLE_MEMORY}`)).toBe(flags());
});

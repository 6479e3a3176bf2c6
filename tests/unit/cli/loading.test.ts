import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { childEnvironment } from '../../../src/config.ts';

/** A library that a process never uses takes megabytes of it for weeks. */

const LOADS = `
  import { registerHooks } from 'node:module';
  const files = [];
  registerHooks({ load(url, context, next) { files.push(url); return next(url, context); } });
  await import(process.argv[1]);
  process.stdout.write(files.join('\\n'), () => process.exit());`;

/** Names of the packages that a file of ours brings along. */
async function packagesOf(file: string): Promise<Set<string>> {
  const path = fileURLToPath(new URL(`../../../src/${file}`, import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', LOADS, path], {
    env: childEnvironment({}),
    maxBuffer: 16 * 2 ** 20,
  });
  const names = stdout.split('\n').map((url) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1]);
  return new Set(names.filter((name) => name !== undefined));
}

it('a process that only supervises loads nothing of the protocol of Temporal', async () => {
  const packages = await packagesOf('cli/instance/foreground.ts');
  expect(packages).toContain('zod');
  expect([...packages].filter((name) => /temporal|protobuf|grpc/.test(name))).toEqual([]);
}, 30_000);

it.each(['gateway', 'api', 'kennel-worker'])(
  'the role %s, which calls no model, loads no library for models',
  async (role) => {
    const packages = await packagesOf(`cli/roles/${role}.ts`);
    expect(packages).toContain('kysely');
    expect([...packages].filter((name) => name === 'openai' || name.startsWith('@ai-sdk/'))).toEqual([]);
  },
  30_000,
);

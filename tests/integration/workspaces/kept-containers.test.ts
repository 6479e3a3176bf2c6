import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { WorkspaceAnswer } from '../../../src/contracts/workspace-ops.ts';
import { NO_DOCKER, startTestKennel, type TestKennel } from '../../support/docker.ts';
import { until } from '../../support/until.ts';

let at: TestKennel;
let folder: string;
beforeAll(async () => {
  if (!NO_DOCKER) at = await startTestKennel();
}, 600_000);
afterAll(() => at?.close());
beforeEach(() => {
  folder = at.workspace();
  writeFileSync(join(folder, 'a.txt'), 'alpha\n');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const read = (
  workspace = folder,
  options: { signal?: AbortSignal; after?: Promise<unknown> } = {},
): Promise<WorkspaceAnswer> =>
  at.kennel.workspaceOp(workspace, { op: 'read', path: 'a.txt', from: 1, lines: 5 }, options);

/** An operation waits for `after` once it has its container. `begun` resolves when it has been asked there. */
function begins(): { after: Promise<unknown>; begun: Promise<void> } {
  const { promise: begun, resolve } = Promise.withResolvers<void>();
  const after = {
    // biome-ignore lint/suspicious/noThenProperty: says when it is waited for
    then(done: () => void) {
      done();
      setImmediate(resolve);
    },
    catch() {},
  };
  return { after: after as unknown as Promise<unknown>, begun };
}

/** ids of running containers of the workspace program */
async function programs(workspace = folder): Promise<string[]> {
  const { docker } = at.kennel.engine;
  const running = await docker.listContainers({ filters: { label: ['fetch.step=workspace'] } });
  const mine = running.filter(({ Mounts }) => Mounts.some(({ Source }) => Source === workspace));
  return mine.map(({ Id }) => Id);
}

/** Stops everything in a container but its init. A paused one is let go before a kill arrives, and may still answer. */
async function stopPrograms(container: string): Promise<void> {
  const exec = await at.kennel.engine.docker.getContainer(container).exec({ Cmd: ['sh', '-c', 'kill -STOP -1'] });
  await exec.start({ Detach: true });
  await until('everything has stopped', async () => (await exec.inspect()).ExitCode === 0);
}

describe.skipIf(NO_DOCKER)('the container of the workspace program', () => {
  it('answers one operation after the other, and sees what changed in between', async () => {
    expect((await read()).output).toContain('alpha');
    const [first] = await programs();
    writeFileSync(join(folder, 'a.txt'), 'beta\n');
    expect((await read()).output).toContain('beta');
    expect(await programs()).toEqual([first]);
  });

  it('takes one operation at a time: two at once have two containers, of which one is kept', async () => {
    const answers = await Promise.all([read(), read(), read()]);
    expect(answers.every(({ output }) => output.includes('alpha'))).toBe(true);
    await until('one is left', async () => (await programs()).length === 1);
  });

  it('is another one for a folder that was removed and made again', async () => {
    await read();
    const [first] = await programs();
    renameSync(folder, `${folder}.gone`);
    rmSync(`${folder}.gone`, { recursive: true });
    mkdirSync(folder);
    writeFileSync(join(folder, 'a.txt'), 'gamma\n');
    expect((await read()).output).toContain('gamma');
    const running = await programs();
    expect(running).toHaveLength(2);
    expect(running).toContain(first);
  });

  it('is replaced when it was killed while it waited', async () => {
    await read();
    const [first] = await programs();
    await at.kennel.engine.docker.getContainer(first!).kill();
    await until('it is gone', async () => !(await programs()).includes(first!));
    expect((await read()).output).toContain('alpha');
  });

  it('is not used again when something else runs in it', async () => {
    await read();
    const [first] = await programs();
    const exec = await at.kennel.engine.docker.getContainer(first!).exec({ Cmd: ['sleep', '600'] });
    await exec.start({ Detach: true });
    expect((await read()).output).toContain('alpha');
    await until('it is ended', async () => !(await programs()).includes(first!));
    expect((await read()).output).toContain('alpha');
  });

  it('ends with an operation that is stopped, and the next one has another', async () => {
    await read();
    const [first] = await programs();
    const stop = new AbortController();
    await at.kennel.engine.docker.getContainer(first!).pause();
    const { after, begun } = begins();
    const reading = read(folder, { signal: stop.signal, after });
    reading.catch(() => {});
    await begun;
    stop.abort(new Error('stopped by the test'));
    await expect(reading).rejects.toThrow('stopped by the test');
    expect(await programs()).not.toContain(first);
    expect((await read()).output).toContain('alpha');
  });

  it('waits for four workspaces at most: the one that was used longest ago is ended', async () => {
    await read();
    const others = [1, 2, 3, 4].map(() => at.workspace());
    for (const other of others) {
      writeFileSync(join(other, 'a.txt'), 'other\n');
      await read(other);
    }
    await until('the first is ended', async () => (await programs()).length === 0);
    for (const other of others) expect(await programs(other)).toHaveLength(1);
  });

  it('ends when the role of its host stops', async () => {
    await read();
    await at.kennel.release();
    expect(await programs()).toEqual([]);
    expect((await read()).output).toContain('alpha');
  });

  it('says how it ended when it ends without an answer', async () => {
    await read();
    const [first] = await programs();
    await stopPrograms(first!);
    const { after, begun } = begins();
    const reading = read(folder, { after });
    reading.catch(() => {});
    await begun;
    await at.kennel.engine.docker.getContainer(first!).kill();
    await expect(reading).rejects.toThrow('The workspace operation read has no answer: it ended with code 137');
  });
});

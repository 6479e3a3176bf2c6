import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { connect } from '../../../src/adapters/kennel/docker/engine.ts';
import { buildEnvironment, EnvironmentFailed } from '../../../src/adapters/kennel/environment/environment-build.ts';
import { isLocal } from '../../../src/adapters/kennel/images/image-base.ts';

const engine = connect({});
const LIMITS = { FETCH_KENNEL_MEMORY_MB: 256, FETCH_KENNEL_CPUS: 1, FETCH_KENNEL_BUILD_MINUTES: 5 };
const FROM = 'FROM node:24-bookworm-slim\n';

/** Builds an image that nobody has yet, and removes it. What went wrong, or null. */
async function built(
  dockerfile: string,
  limits: Partial<typeof LIMITS> = {},
  files: Parameters<typeof buildEnvironment>[2]['files'] = [],
): Promise<Error | null> {
  const name = `fetch-kennel-env:test-${randomBytes(6).toString('hex')}`;
  try {
    await buildEnvironment(
      engine,
      { ...LIMITS, ...limits },
      { name, label: 'a test', dockerfile: `${FROM}LABEL x=${name}\n${dockerfile}`, files },
      () => {},
    );
    expect(await isLocal(engine, name)).toBe(true);
    return null;
  } catch (error) {
    return error as Error;
  } finally {
    await engine.docker
      .getImage(name)
      .remove()
      .catch(() => {});
  }
}

describe('a build of a repository', () => {
  it('whose step needs more memory than it has fails, and names the setting', async () => {
    const error = await built('RUN node --max-old-space-size=4000 -e "Buffer.alloc(1e9, 1)"\n');
    expect(error).toBeInstanceOf(EnvironmentFailed);
    expect(error!.message).toMatch(/needs more memory than 256 MB/);
  }, 120_000);

  it('that takes too long is ended with its step, and what is finished is kept', async () => {
    const error = await built('RUN sleep 4321\n', { FETCH_KENNEL_BUILD_MINUTES: 0.1 });
    expect(error).toBeInstanceOf(EnvironmentFailed);
    expect(error!.message).toMatch(/took longer than 0\.1 minutes\. Finished steps are kept/);
    await expect
      .poll(async () => JSON.stringify(await engine.docker.listContainers()), { timeout: 30_000 })
      .not.toContain('sleep 4321');
  }, 120_000);

  it('gets files with their names and permissions, also one that is called like ours', async () => {
    const files = [
      { path: 'Dockerfile', content: 'FROM evil\n' },
      { path: 'deep/a file', content: Buffer.from([0, 255]), executable: true },
    ];
    const steps =
      'COPY . /got\nRUN grep -q evil /got/Dockerfile && test -x "/got/deep/a file" && test ! -x /got/Dockerfile && su node -c "cat /got/*/a*" | wc -c | grep -qx 2\n';
    expect(await built(steps, {}, files)).toBeNull();
  }, 120_000);
});

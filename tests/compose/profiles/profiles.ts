import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { ADDED, type ComposedServer, docker } from '../server.ts';
import { prometheusTests } from './prometheus.ts';
import { searchTests } from './search.ts';
import { webUiTests } from './web-ui.ts';

/** Tests of these services on a server that runs and has had a turn. They are removed afterwards. */
export function profileTests(server: () => ComposedServer): void {
  beforeAll(async () => {
    await server().up(...ADDED);
    const thread = await server().api.thread();
    // an address that `web_fetch` refuses
    await server().api.say(thread, 'fetch http://127.0.0.1:1/');
    await until('the turn has ended', async () => (await server().api.detail(thread)).turns[0]?.status === 'completed');
  });
  afterAll(async () => {
    // nothing of them is kept, so nobody waits for their end
    await server().compose('kill', ...ADDED);
    await server().compose('rm', '--force', ...ADDED);
  });

  test('the services of the profiles are healthy without rights, and write only to their volumes, apart from the search service', async () => {
    for (const service of ADDED) {
      const [container] = await server().containers(service);
      const [{ State, HostConfig }] = JSON.parse(await docker('inspect', container!));
      expect(State.Health.Status, service).toBe('healthy');
      expect(HostConfig, service).toMatchObject({
        CapDrop: ['ALL'],
        ReadonlyRootfs: service !== 'searxng',
        Privileged: false,
      });
      expect(HostConfig.Memory, service).toBeGreaterThan(0);
    }
  });

  webUiTests(server);
  searchTests(server);
  prometheusTests(server);
}

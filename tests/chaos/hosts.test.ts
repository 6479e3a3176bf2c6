import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startCluster } from '../hosts/cluster.ts';
import { FAULTS } from '../hosts/faults.ts';
import { runHosts } from '../hosts/run.ts';
import { IS_ROOT } from '../support/other-user.ts';

/** One fault of eleven; `npm run test-hosts` has them all. */
describe.skipIf(!IS_ROOT)('two hosts, each with a network of its own', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster({ seed: 1 });
  });
  afterAll(() => cluster?.close());

  it('lose nothing and do nothing twice when the one with WhatsApp is cut off from everything', async () => {
    const faults = FAULTS.filter(({ name }) => name === 'cut off from everything');
    const result = await runHosts(cluster, { seed: 1, faults, chats: 2, messages: 10, heldMs: 15_000 });
    expect(result).toMatchObject({ lost: [], doubled: [], stuck: [] });
    expect(result.whatsapp).toMatchObject({ disordered: [], unreadable: [], problems: [], pairedAgain: 0 });
    // the lease must end, and the other gateway connects
    expect(result.met).toMatchObject([{ whatsapp: true, tookOverMs: expect.any(Number) }]);
    expect(result.readers.breaks).toBeGreaterThan(0);
  });
});

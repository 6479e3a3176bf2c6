import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startCluster } from './cluster.ts';
import { FAULTS } from './faults.ts';
import { hostsReport, runHosts } from './run.ts';

const seed = Number(process.env.FETCH_TEST_SEED ?? 1);

describe('two hosts with every role on each', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster({ seed, clock: true });
  });
  afterAll(() => cluster?.close());

  it('lose nothing and do nothing twice, whatever happens to one of them', async () => {
    const onFault = (met: object) => console.log(JSON.stringify(met));
    const result = await runHosts(cluster, { seed, faults: FAULTS, chats: 3, messages: FAULTS.length * 8, onFault });
    console.log(`seed ${seed}\n${hostsReport(result)}`);
    expect(result).toMatchObject({ lost: [], doubled: [], stuck: [] });
    expect(result.whatsapp).toMatchObject({ disordered: [], unreadable: [], problems: [], pairedAgain: 0 });
    // the screens did meet both APIs
    expect(result.readers.breaks).toBeGreaterThan(0);
    expect(Math.min(...result.passed)).toBeGreaterThan(0);
  });
});

import { describe, expect, it } from 'vitest';
import { NO_DOCKER } from '../support/docker.ts';
import { runPairsChaos } from './pairs.ts';

describe.skipIf(NO_DOCKER)('two of every role on one database and one Temporal server, killed in turn', () => {
  it('lose nothing and do nothing twice: messages, questions, a schedule, coding tasks, WhatsApp', {
    timeout: 400_000,
  }, async () => {
    const result = await runPairsChaos({ seed: 7, kills: 0, chats: 2, tasks: 3, messages: 24 });
    expect(result).toMatchObject({ lost: [], doubled: [], stuck: [] });
    expect(result.whatsapp).toMatchObject({ disordered: [], unreadable: [], problems: [], pairedAgain: 0 });
    expect(result.tasks.ended.completed + result.tasks.ended.failed + result.tasks.ended.cancelled).toBe(3);
    expect(result.kills.map(({ victim }) => victim).sort()).toEqual(
      [...['worker', 'gateway', 'api', 'kennel-worker'].flatMap((role) => [role, role]), 'frozen'].sort(),
    );
    // nobody can know that a frozen gateway is not at work, so its lease has to end
    const [frozen] = result.kills.filter(({ victim }) => victim === 'frozen');
    expect(frozen!.tookOverMs).toBeLessThan(30_000);
  });
});

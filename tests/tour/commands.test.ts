import { execFileSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { World } from '../stories/story.ts';
import { startWorld } from '../stories/world.ts';
import { NO_DOCKER } from '../support/docker.ts';
import { type LimitedEndpoint, MODEL_CALLER, startLimitedEndpoint } from '../support/limited-endpoint.ts';
import { askingProgram, type Guide, TOUR, walk, wordsOf } from './commands.ts';

/** Every command once, on a phone. */

describe.skipIf(NO_DOCKER)('a tour of the commands', () => {
  let world: World & { close(): Promise<void> };
  let endpoint: LimitedEndpoint;
  let own: string;
  beforeAll(async () => {
    own = join(realpathSync(mkdtempSync(join(tmpdir(), 'fetch-tour-'))), 'own');
    execFileSync('git', ['init', '-q', '-b', 'main', own]);
    writeFileSync(join(own, 'a.txt'), 'a\n');
    for (const args of [
      ['add', '.'],
      ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.com', 'commit', '-qm', 'mine'],
    ])
      execFileSync('git', args, { cwd: own });
    endpoint = await startLimitedEndpoint();
    world = await startWorld({
      ANTHROPIC_BASE_URL: endpoint.url,
      FETCH_AUTONOMY: 'autonomous',
      FETCH_KENNEL_AGENTS: 'practice',
      // a tour says in a minute what a person says in an hour
      WHATSAPP_RATE_LIMIT: '1000',
    });
  }, 600_000);
  afterAll(async () => {
    await world?.close();
    await endpoint?.close();
    if (own) rmSync(join(own, '..'), { recursive: true, force: true });
  });

  it('shows an answer to each, and leaves out none that help names', { timeout: 1_200_000 }, async () => {
    const { ann } = world;
    const transcript: string[] = [];
    const guide: Guide = {
      ...world,
      endpoint,
      own,
    };
    const said: string[] = [];
    const missed: string[] = [];
    let help = '';
    for (const line of TOUR) {
      const before = transcript.length;
      said.push(
        await walk(
          guide,
          line,
          (text) => void transcript.push(text),
          (what) => void missed.push(what),
        ),
      );
      if (said.at(-1) === 'help all') help = transcript.slice(before).join('\n');
      if (/"workspace_create"/.test(said.at(-1)!)) writeFileSync(askingProgram(world), MODEL_CALLER);
    }
    const doubled = ann.unclaimed().map(({ shown }) => shown.text);
    const unsaid = wordsOf(help).filter(({ like }) => !said.some((text) => like.test(text)));
    expect({ missed, doubled, unsaid: unsaid.map(({ words }) => words) }).toEqual({
      missed: [],
      doubled: [],
      unsaid: [],
    });
  });
});

import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { homeLabel } from '../../src/adapters/kennel/docker/containers.ts';
import { tools } from '../../src/tools/registry.ts';
import type { World } from '../stories/story.ts';
import { startWorld } from '../stories/world.ts';
import { PUBLIC, type Site, serve } from '../support/browser-bench.ts';
import { NO_DOCKER, removeContainers, requireDocker } from '../support/docker.ts';
import { found } from '../support/extensions.ts';
import { workspace } from '../support/kennel-app.ts';
import { countsAsShown } from '../support/whatsapp-app.ts';
import { type Places, ROWS, type Row } from './tools.ts';

/**
 * Every tool once, asked for on a phone. What others wrote is read on the way, so that some calls ask first, as they do
 * for everybody.
 */

const ASKS = /Answer yes, no/;
/** Far above any wait, so that only what is never shown reaches it. */
const PATIENCE_MS = 120_000;

it('has a row for each tool that is declared, and none for another', () => {
  expect([...new Set(ROWS.map(({ tool }) => tool))].sort()).toEqual([...tools.keys()].sort());
});

describe.skipIf(NO_DOCKER)('a tour of the tools', () => {
  let world: World & { close(): Promise<void> };
  let site: Site;
  let search: Server;
  beforeAll(async () => {
    await requireDocker('browser');
    site = await serve({ '/doors': '<title>Doors</title><h1>Doors</h1><p>Oak and iron.</p>' });
    const result = {
      title: 'Doors of the world',
      url: 'https://example.org/doors',
      content: 'Many.',
      engine: 'x',
      score: 1,
    };
    search = createServer((_, response) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ query: 'doors', results: [result], unresponsive_engines: [] })),
    );
    await new Promise<void>((done) => search.listen(0, '127.0.0.1', done));
    world = await startWorld({
      FETCH_AUTONOMY: 'autonomous',
      FETCH_SEARXNG_URL: `http://127.0.0.1:${(search.address() as AddressInfo).port}`,
      // a tour says in a minute what a person says in an hour
      WHATSAPP_RATE_LIMIT: '1000',
    });
    const { app, ann } = world;
    mkdirSync(join(app.home, 'skills', 'release'), { recursive: true });
    writeFileSync(
      join(app.home, 'skills', 'release', 'SKILL.md'),
      '---\nname: release\ndescription: How we make a release\n---\nTest first.',
    );
    await workspace(app, 'shed');
    await found(app, 'release', ({ hash }) => hash !== null);
    await ann.says('tools show release');
    const shown = await ann.sees(/tools allow release [0-9a-f]{8}/);
    await ann.says(/tools allow release [0-9a-f]{8}/.exec(shown.shown.text)![0]);
    await ann.sees(/I use release/);
    await ann.contact.send({
      document: Buffer.from('Dear Ann,\nthe door is ready.\n'),
      fileName: 'letter.txt',
      mimetype: 'text/plain',
    });
    await ann.sees(/./);
  }, 900_000);
  afterAll(async () => {
    const home = world && homeLabel(world.app.home);
    await world?.close();
    await site?.close();
    search?.close();
    if (home) await removeContainers(home);
  });

  /** what was not shown, or not so */
  const wrong: string[] = [];
  const idOf: Places['id'] = async (kind) => {
    const { db } = world.app.store;
    if (kind === 'mem') return (await db.selectFrom('memories').select('id').executeTakeFirstOrThrow()).id;
    if (kind === 'att') return (await db.selectFrom('attachments').select('id').executeTakeFirstOrThrow()).id;
    return (
      await db
        .selectFrom('calls')
        .select('id')
        .where('name', '=', 'file_read')
        .orderBy('started_at', 'desc')
        .executeTakeFirstOrThrow()
    ).id;
  };

  /** Asks, says yes to what is asked before, and waits for the answer and for what comes besides. */
  async function ask({ asks, tool, args, shows, besides = [], answer }: Row): Promise<void> {
    const { ann } = world;
    const places: Places = { ...world, site: `http://${PUBLIC}:${site.port}`, id: idOf };
    const made = typeof args === 'function' ? await args(places) : args;
    await ann.asks([[tool, made]], `${asks}: $LAST`);
    const waiting = [...besides];
    for (let over = false; !over || waiting.length > 0; ) {
      const any = [new RegExp(`^${RegExp.escape(asks)}: `), ASKS, ...waiting].map(({ source }) => source).join('|');
      const message = await ann.sees(new RegExp(any), PATIENCE_MS);
      const { text } = message.shown;
      const expected = waiting.findIndex((like) => like.test(text));
      await countsAsShown(world.app, message);
      if (text.startsWith(asks)) {
        if (!shows.test(text)) wrong.push(`${tool}: ${text}`);
        over = true;
      } else if (ASKS.test(text)) await ann.says('yes');
      else waiting.splice(expected, 1);
      if (expected >= 0 && answer !== undefined) await ann.says(answer);
    }
  }

  it('shows what each has done, in the order in which it was asked for', { timeout: 1_200_000 }, async () => {
    for (const row of ROWS)
      await ask(row).catch((error: Error) => {
        wrong.push(`${row.tool}: ${error.message}`);
        world.ann.forgets();
      });
    const left = world.ann.unclaimed();
    const pictures = left.filter(({ kind }) => kind === 'image');
    // progress is shown only while its turn runs
    const doubled = left.filter(({ kind, shown }) => kind !== 'image' && !shown.text.includes('Half way there'));
    const failed = await world.app.store.db
      .selectFrom('calls')
      .select(['name', 'output'])
      .where('ok', '=', false)
      .orderBy('name')
      .execute();
    expect({
      wrong,
      doubled: doubled.map(({ shown }) => shown.text),
      pictures: pictures.length,
      failed: failed.map(({ name, output }) => `${name}: ${output}`),
    }).toEqual({
      wrong: [],
      doubled: [],
      pictures: 1,
      // a session that moves is tried with the real agents
      failed: [
        expect.stringMatching(/^session_give: No task of Claude Code/),
        expect.stringMatching(/^session_take: No session has come/),
      ],
    });
  });
});

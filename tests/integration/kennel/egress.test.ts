import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { HOSTS_ASKED } from '../../../src/domain/tasks/egress.ts';
import { reachedBy } from '../../../src/store/kennel/egress.ts';
import { openAsks, revokeRules } from '../../../src/store/kennel/egress-rules.ts';
import { askAboutHosts, dueEgress, settleHosts } from '../../../src/store/kennel/questions/egress-questions.ts';
import { findQuestion } from '../../../src/store/kennel/questions/task-questions.ts';
import { type GateBench, startGateBench } from '../../support/gate-bench.ts';
import { IS_ROOT } from '../../support/other-user.ts';
import { until } from '../../support/until.ts';

/** A real gate on a real store, without containers: what a program at the egress socket meets. */

let bench: GateBench;
beforeAll(async () => {
  bench = await startGateBench();
});
afterEach(() => bench?.cleared());
afterAll(() => bench?.close());

/** A server that keeps count of everything that reaches it. */
async function ledger() {
  const found = { connections: 0, bytes: 0, port: 0 };
  const server = createServer((socket) => {
    found.connections += 1;
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      found.bytes += chunk.length;
      socket.write(chunk);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  bench.open.push({ close: () => server.close() });
  found.port = (server.address() as AddressInfo).port;
  return found;
}

describe('a host without a rule', () => {
  it('is held until a person allows it, goes through at the first try, and is counted', async () => {
    const there = await ledger();
    const at = await bench.task('held');
    const one = at.connect(`files.example:${there.port}`, 'User-Agent: npm/11.2.0 node/v24\r\n');
    await at.asked(1);
    expect([one.said(), there.connections]).toEqual(['', 0]);
    const { prompt, options } = await at.answer('this task');
    expect(prompt).toBe(`npm in held wants files.example:${there.port}.\nPort ${there.port} is an unusual one.`);
    expect(options).toEqual(['once', 'this task', 'this project', 'no']);
    await one.begins('HTTP/1.1 200 ');
    one.socket.write('ping');
    await until('it comes back', () => one.said().endsWith('ping'));
    // the next one is not asked about
    await at.connect(`files.example:${there.port}`).begins('HTTP/1.1 200 ');
    await at.gate.close(at.task.id);
    expect(await reachedBy(bench.db, at.task.id)).toEqual([
      { host: 'files.example', port: there.port, connections: 1, sent: 4, received: 4 },
    ]);
  });

  it('is looked up by nobody before a yes', async () => {
    const looked: string[] = [];
    const resolve = async (host: string) => {
      looked.push(host);
      return [{ address: '127.0.0.1', family: 4 as const }];
    };
    const at = await bench.task('looked', { resolve });
    const one = at.connect('secret-1234.evil.example:443');
    await at.asked(1);
    expect(looked).toEqual([]);
    await at.answer('no');
    await one.begins('HTTP/1.1 403 ');
    expect(looked).toEqual([]);
  });

  it('is one question with the other hosts of its tool, and a no is for all of them and is not asked again', async () => {
    const at = await bench.task('several');
    const one = at.connect('a.example:443');
    await at.asked(1);
    const two = at.connect('b.example:8443');
    await at.asked(2);
    await at.due();
    const { prompt } = await at.answer('no');
    expect(prompt).toBe(
      `A program in several wants 2 hosts:\n- a.example\n- b.example:8443\nPort 8443 is an unusual one.`,
    );
    for (const each of [one, two]) await each.begins('HTTP/1.1 403 Not allowed by the person');
    const again = at.connect('a.example:443');
    await again.begins('HTTP/1.1 403 ');
    await until('with words for the agent', () => again.said().includes('Go on without it'));
    expect(again.said()).not.toContain('FETCH_');
    expect(await dueEgress(bench.db, at.task)).toBeNull();
  });

  it('counts for every task of its project, and no longer once it is taken back: open connections end', async () => {
    const there = await ledger();
    const [first, second, other] = [
      await bench.task('shared'),
      await bench.task('shared'),
      await bench.task('another'),
    ];
    const target = `files.example:${there.port}`;
    const one = first.connect(target);
    await first.asked(1);
    await first.answer('this project');
    await one.begins('HTTP/1.1 200 ');
    const two = second.connect(target);
    await two.begins('HTTP/1.1 200 ');
    other.connect(target);
    await other.asked(1);
    const ended = [once(one.socket, 'close'), once(two.socket, 'close')];
    await revokeRules(bench.db, 'local', ['shared'], { host: 'files.example', port: null });
    await Promise.all(ended);
    second.connect(target);
    await second.asked(1);
  });

  it('that was allowed once is asked for again after its minutes, and what it opened ends in peace', async () => {
    const there = await ledger();
    const at = await bench.task('once');
    const one = at.connect(`files.example:${there.port}`);
    await at.asked(1);
    const { id } = await at.answer('once');
    await one.begins('HTTP/1.1 200 ');
    await bench.db
      .updateTable('egress_rules')
      .set({ until: new Date(0) })
      .where('question_id', '=', id)
      .execute();
    await until('it is asked for', async () => {
      at.connect(`files.example:${there.port}`);
      return (await openAsks(bench.db, at.task)).length === 1;
    });
    one.socket.write('still here');
    await until('it goes on', () => one.said().endsWith('still here'));
  });

  it('is asked for by many requests at the same time, and none of them is refused', async () => {
    const at = await bench.task('many');
    const all = Array.from({ length: 40 }, () => at.connect('a.example:443'));
    await at.asked(1);
    await at.answer('no');
    for (const one of all) await one.begins('HTTP/1.1 403 Not allowed by the person');
  });

  it('stays in its question when it is asked for again while that is stored', async () => {
    const at = await bench.task('meanwhile');
    const first = at.connect('a.example:443');
    await at.asked(1);
    await at.due();
    const waits = async (count: number, statement: string) =>
      until(`${statement} waits`, async () => {
        const { rows } =
          await sql`select from pg_stat_activity where wait_event_type = 'Lock' and query ilike ${`%${statement}%`}`.execute(
            bench.db,
          );
        return rows.length === count;
      });
    const held = Promise.withResolvers<void>();
    const locked = Promise.withResolvers<void>();
    const holds = bench.db.transaction().execute(async (tx) => {
      await sql`lock table questions in share mode`.execute(tx);
      locked.resolve();
      await held.promise;
    });
    await locked.promise;
    const { questionId } = (await dueEgress(bench.db, at.task))!;
    const asks = askAboutHosts(bench.db, at.task, questionId);
    await waits(1, 'into "questions"');
    const second = at.connect('a.example:443');
    await waits(1, 'into egress_asks');
    held.resolve();
    await Promise.all([holds, asks]);
    await settleHosts(bench.db, (await findQuestion(bench.db, questionId))!, { answer: 'no', by: { role: 'owner' } });
    for (const one of [first, second]) await one.begins('HTTP/1.1 403 Not allowed by the person');
  });

  it('defect 30: with a private address is not opened by any yes', async () => {
    const at = await bench.task('private', { allows: () => false });
    const literal = at.connect('10.0.0.5:443');
    await literal.begins('HTTP/1.1 403 Address not public');
    const named = at.connect('intranet.example:443');
    await at.asked(1);
    await at.answer('this project');
    await named.begins('HTTP/1.1 403 Address not public');
  });
});

describe('an agent that asks for everything', () => {
  it('sends nothing in a thousand attempts, makes one question of few hosts, and fills no table', async () => {
    const there = await ledger();
    const at = await bench.task('flood');
    for (let batch = 0; batch < 50; batch += 1)
      await Promise.all(
        Array.from({ length: 20 }, async (_, each) => {
          const { socket } = at.connect(`data-${batch}-${each}.evil.example:${there.port}`);
          socket.write('x'.repeat(1000));
          socket.setTimeout(100, () => socket.destroy());
          await once(socket, 'close');
        }),
      );
    const { db } = bench;
    const asks = await db.selectFrom('egress_asks').selectAll().where('task_id', '=', at.task.id).execute();
    expect(asks.length).toBeLessThanOrEqual(HOSTS_ASKED);
    const { prompt } = await at.answer('no');
    expect(prompt.split('\n').filter((line) => line.startsWith('- '))).toHaveLength(12);
    expect(prompt).toMatch(/It also asked for \d+ more, which stay refused\.\nPort \d+ is an unusual one\.$/);
    expect(await dueEgress(db, at.task)).toBeNull();
    expect(there).toMatchObject({ connections: 0, bytes: 0 });
  });
});

describe('a host without encryption', () => {
  // an address of its own, because port 80 of 127.0.0.1 may be somebody's
  const ADDRESS = '127.0.0.80';
  const there = {
    allows: (address: string) => address === ADDRESS,
    resolve: async () => [{ address: ADDRESS, family: 4 as const }],
  };
  const apt = (host: string) =>
    `GET http://${host}/dists/x HTTP/1.1\r\nHost: ${host}\r\nUser-Agent: Debian APT-HTTP/1.3 (2.6.1)\r\nConnection: close\r\n\r\n`;

  it.skipIf(!IS_ROOT)('is asked about and named as such; the yes holds for port 80 and for no other', async () => {
    const asked: string[] = [];
    const server = createHttpServer((request, response) => {
      asked.push(`${request.method} ${request.url} ${request.headers.host}`);
      response.end('packages');
    });
    server.listen(80, ADDRESS);
    await once(server, 'listening');
    bench.open.push({ close: () => server.close() });
    const at = await bench.task('open', there);
    const one = at.send(apt('deb.example.com'));
    await at.asked(1);
    expect(asked).toEqual([]);
    const { prompt } = await at.answer('this project');
    expect(prompt).toBe(
      `apt in open wants http://deb.example.com.\nThat is without encryption: others on the way can read it, and change what comes.`,
    );
    await one.begins('HTTP/1.1 200 ');
    await until('its answer comes', () => one.said().endsWith('packages'));
    await at.send(apt('deb.example.com').replace('GET', 'HEAD')).begins('HTTP/1.1 200 ');
    expect(asked).toEqual(['GET /dists/x deb.example.com', 'HEAD /dists/x deb.example.com']);
    // apt loads its lists on one connection, which must not gather listeners
    const warned: string[] = [];
    const note = ({ name }: Error) => void warned.push(name);
    process.on('warning', note);
    const kept = at.send(apt('deb.example.com').replace('Connection: close\r\n', '').repeat(15));
    await until('all are answered', () => kept.said().split('packages').length > 15);
    process.off('warning', note);
    expect(warned).toEqual([]);
    at.connect('deb.example.com:443');
    await at.asked(1);
    expect(await openAsks(bench.db, at.task)).toMatchObject([{ host: 'deb.example.com', port: 443 }]);
    // and the other way round
    at.connect('secure.example:443');
    await at.asked(2);
    await at.answer('this project');
    at.send(apt('secure.example'));
    await at.asked(1);
    expect(asked).toHaveLength(17);
  });

  it('is refused, and nobody is asked, where a request would send something, or has a password, another port or a private address', async () => {
    const at = await bench.task('closed', there);
    const refused = async (head: string, words: RegExp) => {
      const one = at.send(`${head}\r\nHost: x\r\n\r\n`);
      await one.begins('HTTP/1.1 403 ');
      await until('with words for the agent', () => words.test(one.said()));
    };
    const only = /Without encryption only GET and HEAD to port 80 .* Use https:\/\/deb\.example instead/;
    await refused('POST http://deb.example/ HTTP/1.1', only);
    await refused('GET http://deb.example/ HTTP/1.1\r\nContent-Length: 3', only);
    await refused('GET http://deb.example/ HTTP/1.1\r\nTransfer-Encoding: chunked', only);
    await refused('GET http://deb.example/ HTTP/1.1\r\nCookie: a=b', only);
    await refused('GET http://deb.example/ HTTP/1.1\r\nAuthorization: Basic eDp5', only);
    await refused('GET http://x:y@deb.example/ HTTP/1.1', only);
    await refused('GET http://deb.example:8080/ HTTP/1.1', only);
    await refused('GET http://10.0.0.5/ HTTP/1.1', /not on the public internet/);
    await refused('GET http://[::ffff:169.254.169.254]/ HTTP/1.1', /not on the public internet/);
    expect(await openAsks(bench.db, at.task)).toEqual([]);
  });

  it('with a private address is not opened by any yes', async () => {
    const at = await bench.task('inside', { allows: () => false });
    const one = at.send(apt('intranet.example'));
    await at.asked(1);
    await at.answer('this project');
    await one.begins('HTTP/1.1 403 Address not public');
  });
});

describe('a mirror of the owner', () => {
  it('may have a private address and speak plain HTTP, at exactly its host and port, after a yes', async () => {
    const server = createHttpServer((request, response) =>
      response.end(`${request.method} ${request.url} ${request.headers['proxy-connection'] ?? ''}`),
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    bench.open.push({ close: () => server.close() });
    const { port } = server.address() as AddressInfo;
    const mirrors = [{ host: '127.0.0.1', port, plain: true }];
    const at = await bench.task('mirror', { allows: () => false, mirrors });
    const get = (to: number) =>
      at.send(
        `GET http://127.0.0.1:${to}/pkg?x=1 HTTP/1.1\r\nHost: 127.0.0.1:${to}\r\nProxy-Connection: x\r\nConnection: close\r\n\r\n`,
      );
    await get(port + 1).begins('HTTP/1.1 403 ');
    const one = get(port);
    await at.asked(1);
    await at.answer('this project');
    await one.begins('HTTP/1.1 200 ');
    await until('its answer comes', () => one.said().includes('GET /pkg?x=1 '));
    // what is no mirror stays private
    await at.connect(`127.0.0.1:${port + 1}`).begins('HTTP/1.1 403 Address not public');
  });
});

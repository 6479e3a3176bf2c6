import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Detail, TestApp } from '../../support/app.ts';
import { containersOf, inState, startTask, startTaskApp, workspace } from '../../support/kennel-app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTaskApp();
}, 600_000);
afterAll(() => app?.close());

/** A command that writes valid lines into the log of its own run: what any program in a container can do. */
function flood(lines: number, chars: number): string {
  const program = `const fs=require("fs");const at=new Date().toISOString();const file=fs.openSync("/run/fetch/log.ndjson","a");let out="";
    for(let i=1000;i<${lines + 1000};i++){
      out+=JSON.stringify({seq:i,at,step:1,type:"tool",id:"t"+i,title:"\\u001b[2J"+i,kind:"read",status:"completed",detail:"x".repeat(${chars})})+"\\n";
      if(out.length>1e6){fs.writeSync(file,out);out=""}
    }
    fs.writeSync(file,out);setTimeout(()=>{},600000)`;
  return `run node -e '${program.replaceAll(/\n\s*/g, '').replaceAll(';', '\\;')}'`;
}

describe('a container that floods its log', () => {
  it('is ended for the size of the log; what it wrote is bounded in the store, in the thread and on the disk', async () => {
    await workspace(app, 'flooded');
    const { thread, id } = await startTask(app, flood(250_000, 300), { workspace: 'flooded', timeout: 600_000 });
    const task = await inState(app, id, 'failed', 90_000);
    expect(task.reason).toMatch(/^The agent printed \d+ MB, and 64 MB are allowed\.$/);
    expect(containersOf(id)).toEqual([]);
    const { count } = await app.store.db
      .selectFrom('items')
      .select((e) => e.fn.countAll<number>().as('count'))
      .where('turn_id', '=', task.turn_id)
      .executeTakeFirstOrThrow();
    expect(Number(count)).toBeLessThanOrEqual(2_001);
    const answer = await fetch(`${app.baseUrl}/v1/threads/${thread}`, {
      headers: { authorization: 'Bearer test-token' },
    });
    const text = await answer.text();
    expect(text.length).toBeLessThan(20 * 1024 * 1024);
    // nothing that a terminal would obey
    const { items } = JSON.parse(text) as Detail;
    expect(items.some((item) => item.summary === 'practice: 2000')).toBe(true);
    expect(items.some((item) => item.summary.includes('\u001b'))).toBe(false);
    const folder = join(app.home, 'kennel/runs', id);
    const bytes = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
    expect(bytes).toBeLessThan(2 * 1024 * 1024);
  }, 120_000);

  it('does not escape its time by what is still unread', async () => {
    await workspace(app, 'hurried');
    const { id } = await startTask(app, flood(60_000, 100), { workspace: 'hurried', timeout: 3_000 });
    const task = await inState(app, id, 'failed', 60_000);
    expect(task.reason).toMatch(/^Its time \(3 s of work\) was used up/);
    expect(task.ended_at!.getTime() - task.started_at!.getTime()).toBeLessThan(30_000);
  }, 90_000);
});

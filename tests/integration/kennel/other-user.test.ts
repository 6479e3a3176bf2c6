import { statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { IS_ROOT, type OtherUser, otherUser } from '../../support/other-user.ts';

describe.skipIf(!IS_ROOT)('an instance of a user that is not root', () => {
  let user: OtherUser;
  let app: TestApp;
  beforeAll(async () => {
    user = await otherUser();
    app = await startTestApp(user.env, { ...user.place, home: join(user.folder, 'state') });
  });
  afterAll(async () => {
    await app?.close();
    user?.close();
  });

  it('answers over the whole path, with servers of its own, from a clone that it can only read', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [
      { call: [['workflow_create', { name: 'tidy', steps: ['workflow_list'] }]] },
      { say: 'as a user: $LAST' },
    ]);
    expect((await app.ended(thread, turn)).status).toBe('completed');
    const { items } = await app.detail(thread);
    expect(items.at(-1)?.detail).toMatch(/^as a user: Saved the routine "tidy"/);
    for (const { pid } of app.state().roles) expect(statSync(`/proc/${pid}`).uid).toBe(user.place.uid);
    expect(statSync(join(app.home, 'postgres')).uid).toBe(user.place.uid);
    expect(statSync(app.home).mode & 0o777).toBe(0o700);
  });

  it('comes back after its supervisor was killed', async () => {
    app.kill('supervisor');
    await app.start();
    const thread = await app.thread();
    const turn = await app.turn(thread, [{ say: 'again' }]);
    expect((await app.ended(thread, turn)).status).toBe('completed');
  });
});

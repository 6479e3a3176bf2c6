import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { heldSettings, placeFiles } from '../../../src/cli/home/move/files.ts';
import { requireStoppedCluster } from '../../../src/cli/home/move/scratch-database.ts';
import {
  HomeMoved,
  markMoved,
  markMovingIn,
  movedIn,
  movedMark,
  requireNotMoved,
} from '../../../src/cli/instance/home/moved.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fetch-move-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('settings of a home', () => {
  it('move where they hold elsewhere, and what is set there stays', () => {
    const theirs = {
      FETCH_TIME_ZONE: 'Europe/Berlin',
      OPENAI_API_KEY: 'sk-1',
      AGENT_MODEL: 'small',
      OPENAI_BASE_URL: 'http://localhost:11434/v1',
      FETCH_RUNTIME_PORT: '9999',
      FETCH_WORKSPACES: '/home/ada/code',
      FETCH_MCP_CONFIG: '/home/ada/mcp.json',
      TEMPORAL_ADDRESS: 'elsewhere:7233',
      GH_TOKEN_FILE: '/home/ada/token',
      FETCH_AUTONOMY: 'reckless',
      SOMETHING: 'else',
      FETCH_TRIGGER: '',
    };
    const { taken, left } = heldSettings(theirs, { AGENT_MODEL: 'large', FETCH_TIME_ZONE: 'Europe/Berlin' });
    expect(taken).toEqual({ OPENAI_API_KEY: 'sk-1' });
    expect(Object.fromEntries(left.map(({ name, why }) => [name, why]))).toEqual({
      AGENT_MODEL: 'it has another value here, which stays',
      OPENAI_BASE_URL: expect.stringContaining('names the machine of the home'),
      FETCH_RUNTIME_PORT: 'each installation has its own',
      FETCH_WORKSPACES: 'each installation has its own',
      FETCH_MCP_CONFIG: 'each installation has its own',
      TEMPORAL_ADDRESS: 'each installation has its own',
      GH_TOKEN_FILE: expect.stringContaining('put it on the server'),
      FETCH_AUTONOMY: expect.stringMatching(/\w/),
      SOMETHING: 'it is no setting of Fetch',
    });
  });
});

describe('files of a home', () => {
  it('come whole, again and again, and another file of the same name stays', async () => {
    const [from, home] = [join(folder, 'from'), join(folder, 'home')];
    mkdirSync(join(from, 'skills/birds'), { recursive: true });
    mkdirSync(join(home, 'skills/birds'), { recursive: true });
    writeFileSync(join(from, 'skills/birds/SKILL.md'), 'herons');
    writeFileSync(join(from, 'skills/birds/more.md'), 'more');
    writeFileSync(join(from, 'mcp.json'), '{}');
    symlinkSync('mcp.json', join(from, 'link'));
    writeFileSync(join(from, 'chat-key'), 'theirs');
    writeFileSync(join(home, 'chat-key'), 'ours');
    writeFileSync(join(home, 'skills/birds/more.md'), 'other');
    // a copy that was killed has left this
    writeFileSync(join(home, 'mcp.json.moving'), '{');
    for (const _ of ['once', 'twice'])
      expect(await placeFiles(from, home)).toEqual([
        expect.stringMatching(/more\.md has another content here, which stays/),
      ]);
    expect(readFileSync(join(home, 'chat-key'), 'utf8')).toBe('theirs');
    expect(readFileSync(join(home, 'link'), 'utf8')).toBe('{}');
    expect(readFileSync(join(home, 'skills/birds/more.md'), 'utf8')).toBe('other');
    expect(existsSync(join(home, 'mcp.json.moving'))).toBe(false);
  });
});

describe('a home', () => {
  it('does not start once it was moved, nor while another is moved into it, nor with a mark that is broken', () => {
    expect(() => requireNotMoved(folder)).not.toThrow();
    markMovingIn(folder, '/from');
    expect(() => requireNotMoved(folder)).toThrow(/was not finished/);
    movedIn(folder);
    expect(() => requireNotMoved(folder)).not.toThrow();
    markMoved(folder, 'db/fetch and temporal:7233/default');
    expect(movedMark(folder)?.to).toBe('db/fetch and temporal:7233/default');
    expect(() => requireNotMoved(folder)).toThrow(HomeMoved);
    writeFileSync(join(folder, 'moved.json'), '');
    expect(() => requireNotMoved(folder)).toThrow(/does not start here any more/);
  });

  it('is refused where its database is missing, was left out of a copy, or is not shut down', () => {
    expect(() => requireStoppedCluster(folder)).toThrow(/has no database/);
    symlinkSync(join(folder, 'nowhere'), join(folder, 'postgres'));
    expect(() => requireStoppedCluster(folder)).toThrow(
      /which is not there: it was copied without it\. Run `fetch export-home`/,
    );
    rmSync(join(folder, 'postgres'));
    mkdirSync(join(folder, 'postgres'));
    writeFileSync(join(folder, 'postgres/PG_VERSION'), '18\n');
    expect(() => requireStoppedCluster(folder)).toThrow(/lacks the file postgres-password/);
    writeFileSync(join(folder, 'postgres-password'), 'x\n');
    writeFileSync(join(folder, 'postgres/postmaster.pid'), '1\n');
    expect(() => requireStoppedCluster(folder)).toThrow(/runs, was not stopped in order, or was copied while it ran/);
  });
});

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { dropSkillFolders, mountSkills } from '../../../src/adapters/kennel/skill-folders.ts';
import type { Skill } from '../../../src/domain/extensions/skill.ts';

describe('the folders of skills', () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'fetch-skills-'));
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  const skill = (files: Skill['files']): Skill => ({
    kind: 'skill',
    name: 'release',
    description: 'When: "now"',
    body: 'Do it.',
    files,
    tools: [],
  });
  const mode = (path: string) => statSync(path).mode & 0o777;

  it('are made once for a version, readable by every user, with programs that can be run', async () => {
    const files = [
      { path: 'scripts/go.sh', text: '#!/bin/sh\n' },
      { path: 'a.md', text: 'a' },
    ];
    const before = process.umask(0o077);
    const made = await Promise.all(
      [1, 2, 3].map(() => mountSkills(home, [{ hash: 'abc', skill: skill(files) }])),
    ).finally(() => process.umask(before));
    const folder = join(home, 'skill-folders/abc');
    expect(made).toEqual(Array(3).fill([{ name: 'release', folder }]));
    expect(readdirSync(join(home, 'skill-folders'))).toEqual(['abc']);
    expect(readFileSync(join(folder, 'SKILL.md'), 'utf8')).toBe(
      '---\nname: release\ndescription: "When: \\"now\\""\n---\n\nDo it.\n',
    );
    expect([
      mode(folder),
      mode(join(folder, 'scripts')),
      mode(join(folder, 'scripts/go.sh')),
      mode(join(folder, 'a.md')),
    ]).toEqual([0o755, 0o755, 0o755, 0o644]);
  });

  it('hold no path that leads out of them', async () => {
    await mountSkills(home, [{ hash: 'abc', skill: skill([{ path: '../../../out.md', text: 'x' }]) }]);
    expect(readdirSync(home)).toEqual(['skill-folders']);
    expect(readdirSync(join(home, 'skill-folders/abc')).sort()).toEqual(['SKILL.md', 'out.md']);
  });

  it('go a day after nobody agrees to their version any more', async () => {
    const old = new Date(Date.now() - 25 * 3_600_000);
    for (const name of ['agreed', 'refused', 'half.123', 'new']) {
      mkdirSync(join(home, 'skill-folders', name), { recursive: true });
      if (name !== 'new') utimesSync(join(home, 'skill-folders', name), old, old);
    }
    await dropSkillFolders(home, new Set(['agreed']));
    expect(readdirSync(join(home, 'skill-folders')).sort()).toEqual(['agreed', 'new']);
  });
});

import { existsSync, readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { compareVersions } from '../../temporal/version.ts';
import { frozen, historiesOf, present, releases, sourcesOf } from './frozen.ts';

/** Recording again until the gate is content must not be a way past it. */
describe('what a release left behind', () => {
  it.each(releases())(
    '%s: every file is as it was recorded, none is gone and none came later without a line of its own',
    (release) => {
      expect(Object.fromEntries(present(release))).toEqual(Object.fromEntries(frozen(release)));
    },
  );

  it('has a list for each folder of histories, and each release before this one has its workflow code', () => {
    const folders = readdirSync(dirname(historiesOf('any')));
    expect(folders.filter((release) => !releases().includes(release))).toEqual([]);
    const before = folders.filter((release) => compareVersions(release, packageJson.version) < 0);
    expect(before.filter((release) => !existsSync(sourcesOf(release)))).toEqual([]);
    expect(before.length).toBeGreaterThan(0);
  });
});

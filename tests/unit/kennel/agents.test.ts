import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { factsOf, INSTALLED_AGENT_NAMES } from '../../../kennel/agents/registry.ts';
import { profileOf } from '../../../kennel/runner/profile/profile.ts';
import { AGENT_NAMES } from '../../../src/contracts/kennel.ts';
import { PACKAGE_ROOT } from '../../../src/installation.ts';

describe('the list of coding agents', () => {
  it('has each folder of an agent, and no other', () => {
    const folders = readdirSync(join(PACKAGE_ROOT, 'kennel/agents'), { withFileTypes: true }).filter((entry) =>
      entry.isDirectory(),
    );
    expect([...AGENT_NAMES].sort()).toEqual(folders.map(({ name }) => name).sort());
  });

  it.each(AGENT_NAMES)('has %s with a name that makes a setting and an image, a label, and a profile', async (name) => {
    expect(name).toMatch(/^[a-z]+$/);
    expect(factsOf(name).label).not.toBe('');
    const profile = await profileOf(name);
    // under HOME
    expect(profile.login).toMatch(/^\.[a-z][\w./-]+$/);
    expect(profile.versionFile ?? profile.version).toBeTruthy();
  });

  it.each(INSTALLED_AGENT_NAMES)('has %s in the table of situations', (name) => {
    expect(existsSync(join(PACKAGE_ROOT, `tests/agents/${name}.test.ts`))).toBe(true);
  });
});

describe('the profile of an agent', () => {
  it('is looked for by the name of a folder only', async () => {
    for (const name of ['none', '../practice', 'toString', ''])
      await expect(profileOf(name as never)).rejects.toThrow('There is no agent named');
  });
});

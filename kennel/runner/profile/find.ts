import { existsSync } from 'node:fs';
import type { AgentName } from '../../../src/contracts/kennel.ts';
import type { Profile } from './profile.ts';

/** The profile of an agent, by the name of its folder. An image holds that of its own agent, and practice. */
export async function profileOf(name: AgentName): Promise<Profile> {
  const file = new URL(`../../agents/${name}/profile.ts`, import.meta.url);
  // a name is a folder and no path
  if (!/^[a-z]+$/.test(name) || !existsSync(file)) throw new Error(`There is no agent named ${name} in this image`);
  return ((await import(file.href)) as { profile: Profile }).profile;
}

import type { HarnessName } from '../../../src/contracts/kennel.ts';
import { practice } from './practice.ts';
import type { Profile } from './profile.ts';

/** Each is loaded when it is wanted, so that a fault in one leaves the others alone. */
const PROFILES: Record<HarnessName, () => Promise<Profile>> = {
  claude: async () => (await import('./claude.ts')).claude,
  codex: async () => (await import('./codex.ts')).codex,
  gemini: async () => (await import('./gemini.ts')).gemini,
  copilot: async () => (await import('./copilot.ts')).copilot,
  opencode: async () => (await import('./opencode.ts')).opencode,
  practice: async () => practice,
};

export async function profileOf(harness: HarnessName): Promise<Profile> {
  return await PROFILES[harness]();
}

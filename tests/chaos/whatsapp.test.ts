import { describe, expect, it } from 'vitest';
import { runWhatsAppChaos } from './whatsapp.ts';

describe('kills while people write on WhatsApp', () => {
  it('answer every message once, show every reply once, and leave nothing that cannot be read', {
    timeout: 300_000,
  }, async () => {
    const result = await runWhatsAppChaos({ seed: 3, kills: 12, messages: 36, maxMinutes: 1.5 });
    expect(result).toMatchObject({
      lost: [],
      doubled: [],
      disordered: [],
      unreadable: [],
      askedAgain: [],
      pairedAgain: 0,
      problems: [],
    });
    expect(result.kills.length).toBeGreaterThan(5);
  });
});

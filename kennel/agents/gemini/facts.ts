import type { AgentFacts } from '../facts.ts';

export const facts = {
  label: 'Gemini CLI',
  model: { protocol: 'gemini' },
  login: { hosts: ['cloudcode-pa.googleapis.com', 'oauth2.googleapis.com'] },
} satisfies AgentFacts;

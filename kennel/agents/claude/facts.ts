import type { AgentFacts } from '../facts.ts';

export const facts = {
  label: 'Claude Code',
  model: { protocol: 'anthropic' },
  login: { hosts: ['api.anthropic.com', 'platform.claude.com', 'console.anthropic.com'] },
} satisfies AgentFacts;

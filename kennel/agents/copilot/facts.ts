import type { AgentFacts } from '../facts.ts';

export const facts = {
  label: 'Copilot CLI',
  model: { protocol: 'openai', mustBeNamed: true },
  // github.com itself is where a log-in is made, not where it is used
  login: {
    hosts: ['api.github.com', '*.githubcopilot.com'],
    remark: 'the token must be in it (`storeTokenPlaintext`)',
  },
  remark: 'needs no GitHub log-in',
} satisfies AgentFacts;

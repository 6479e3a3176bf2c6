import type { AgentFacts } from '../facts.ts';

export const facts = {
  label: 'NanoClaw',
  model: { protocol: 'anthropic' },
  login: { hosts: ['api.anthropic.com', 'platform.claude.com', 'console.anthropic.com'] },
  image: { name: 'nanoclaw-agent:latest', workspace: '/workspace/group' },
  remark: '[its own image](#nanoclaws-image), if that is on this machine; only by its name',
} satisfies AgentFacts;

import type { AgentFacts } from '../facts.ts';

export const facts = {
  label: 'Codex',
  model: { protocol: 'openai' },
  login: {
    hosts: ['api.openai.com', 'auth.openai.com', 'chatgpt.com'],
    remark: '`cli_auth_credentials_store = "file"`',
  },
  remark: 'the endpoint must have the Responses API',
} satisfies AgentFacts;

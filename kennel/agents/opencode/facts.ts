import { facts as claude } from '../claude/facts.ts';
import { facts as codex } from '../codex/facts.ts';
import { facts as copilot } from '../copilot/facts.ts';
import type { AgentFacts } from '../facts.ts';

export const facts = {
  label: 'OpenCode',
  model: { protocol: 'openai', mustBeNamed: true },
  login: {
    // it can be logged in to each of them
    hosts: [...claude.login.hosts, ...codex.login.hosts, ...copilot.login.hosts, 'opencode.ai'],
    remark: 'other providers need `FETCH_KENNEL_EGRESS`',
  },
} satisfies AgentFacts;

import type { AgentFacts } from '../facts.ts';

export const facts = {
  label: 'practice agent',
  model: null,
  login: { hosts: [], remark: 'any content' },
  remark:
    'it does what the goal says: `write FILE TEXT`, `append FILE TEXT`, `wait SECONDS`, `run COMMAND`, `ask QUESTION | choice | choice`, `setup SCRIPT` (for the image), `allow? COMMAND`, `look COMMAND` (also while it plans), `fail TEXT`, `say TEXT`, `repair CLAUSE` (if tests fail at the end), separated by `;`',
} satisfies AgentFacts;

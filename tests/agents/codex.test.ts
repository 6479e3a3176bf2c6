import { limitScenarios } from '../support/providers/limit-scenarios.ts';
import { agentScenarios, type Differences } from '../support/providers/scenarios.ts';
import { taskScenarios } from '../support/providers/task-scenarios.ts';

const codex: Differences = {
  name: 'codex',
  model: 'scripted',
  protocol: 'openai-responses',
  sideQuestions: 0,
  refused: 'ends its turn',
  reasons: {
    unauthorized: /Authentication required/,
    limited: /429/,
    failing: /high demand/,
    cut: /stream disconnected/,
  },
  // a request that fails is tried again, and so is the stream that it was for
  attempts: { unauthorized: 2, limited: 2, failing: 4, cut: 2 },
};

agentScenarios(codex);
taskScenarios(codex);
limitScenarios(codex);
